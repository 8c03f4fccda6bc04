// What the owner's process and its workers send each other. `engine` carries what the two engines say to each other.

export type FromWorker = { ready: true } | { engine: unknown }
export type ToWorker = { stop: true } | { engine: unknown }

/** Set for a worker: the port that it shares. */
export const portVariable = 'CUBBY_WORKER_PORT'
