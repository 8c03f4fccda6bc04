import type { Awaitable } from './awaitable.ts'

/**
 * Work that may take long, as a generator that yields every few milliseconds, so that other requests run in between.
 * Small work never yields.
 */
export type Steps<T> = Generator<undefined, T>

/** Runs all steps, either at once or interleaved with other requests. */
export type RunSteps = <T>(steps: Steps<T>) => Awaitable<T>

/** UTF-16 units of JSON per step. */
export const stepUnits = 128 * 1024

/** Runs all steps at once, for callers without concurrent requests. */
export const runThrough = <T>(steps: Steps<T>): T => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
