// Screens that are not part of the first load: most visits are to tables.

export { BucketScreen } from './buckets/bucket.tsx'
export { BucketsScreen } from './buckets/buckets.tsx'
export { FileScreen } from './buckets/file.tsx'
export { ImportScreen } from './import.tsx'
export { RunScreen } from './tasks/run.tsx'
export { TaskScreen } from './tasks/task.tsx'
export { TasksScreen } from './tasks/tasks.tsx'
