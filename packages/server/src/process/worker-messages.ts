// The messages between the owner process and its workers. `engine` contains a message from engine to engine.

export type FromWorker = { ready: true } | { engine: unknown }
export type ToWorker = { stop: true } | { engine: unknown }

/** Set in a worker's environment: the port that the workers share. */
export const portVariable = 'CUBBY_WORKER_PORT'
