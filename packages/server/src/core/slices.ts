import type { Awaitable } from './awaitable.ts'

/**
 * Work that may take long, as a generator that yields every few milliseconds, so that other requests run in between.
 * Small work never yields.
 */
export type Slices<T> = Generator<undefined, T>

/** Runs all steps, either at once or interleaved with other requests. */
export type RunSlices = <T>(slices: Slices<T>) => Awaitable<T>

/** UTF-16 units of JSON per step. */
export const sliceUnits = 128 * 1024

/** An answer that is built in several turns: a page of files, or the answers to a batch of messages. */
export type BuiltResponse = 'listing' | 'batch'

/** Memory for such an answer, counted for its caller until the answer takes its place. A request takes it at most once. */
export interface ResponseRoom {
  /** False if the request would have to wait. */
  tryTakeRoom(built: BuiltResponse): boolean
  /** Waits as for a turn, and throws `unavailable` after the same time. Afterwards the key was checked again. */
  takeRoom(built: BuiltResponse): Promise<void>
}

/** Runs all steps at once, for callers without concurrent requests. */
export const runThrough = <T>(slices: Slices<T>): T => {
  for (;;) {
    const slice = slices.next()
    if (slice.done === true) return slice.value
  }
}
