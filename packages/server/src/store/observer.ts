/**
 * What happens to runs. `added`: a new one. `started`: an attempt was handed out. The others end an attempt or a run:
 * `retried` failed and is queued again, `failed` failed for good, `expired` lost its lease (and is then queued or failed).
 */
export const runEvents = ['added', 'started', 'succeeded', 'retried', 'failed', 'cancelled', 'expired'] as const
export type RunEvent = (typeof runEvents)[number]

/** Told what an engine does, for the metrics. Its methods must be cheap and must not throw. Without one nothing is counted. */
export interface StoreObserver {
  /** The writer of this process committed a group. Only the embedded engine has one. */
  committed(requests: number, ms: number): void
  runs(event: RunEvent, count: number): void
}
