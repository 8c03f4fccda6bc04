// The entry point @cubbydb/client/load. `db.table('orders').load(…)` loads it when it is called.

export { load } from './load/load.ts'
export { LoadError } from './load/load-error.ts'
export type { LoadOptions, LoadSource } from './records/loading.ts'
