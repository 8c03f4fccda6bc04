// The entry point @cubbydb/client/changes. `changes` and `watch` of a table load it when they are used.

export { follow } from './changes/follow.ts'
export { watch } from './changes/watch.ts'
export type { Changes, ChangesOptions, WatchDifference, WatchOptions, WatchQuery } from './records/following.ts'
