import type { Snapshot } from '../metrics/registry.ts'

// The messages between the owner process and its workers. `engine` contains a message from engine to engine.

export type FromWorker = { ready: true } | { engine: unknown } | { metrics: Snapshot }
/** `metrics`: asks for the values of the worker's metrics. */
export type ToWorker = { stop: true } | { engine: unknown } | { metrics: true }

/** Set in a worker's environment: the port that the workers share. */
export const portVariable = 'CUBBY_WORKER_PORT'
