// The entry point @cubbydb/client/worker. `db.task('mail').work(…)` loads it when it is called.

export type { BatchTarget, Handler, HandlerResult, WorkingRun, WorkOptions } from './tasks/working-run.ts'
export { RunFailed, type RunFailedOptions } from './worker/run-failed.ts'
export { work } from './worker/work.ts'
