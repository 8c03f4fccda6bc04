import type { Awaitable } from './awaitable.ts'

/**
 * Work that may take long, in steps of a few milliseconds, so that others can be served between them. Little work has no
 * step to wait at.
 */
export type Steps<T> = Generator<undefined, T>

/** Takes steps to their end, now or with others' work in between. */
export type RunSteps = <T>(steps: Steps<T>) => Awaitable<T>

/** UTF-16 units of JSON that one step goes through. */
export const stepUnits = 128 * 1024

/** For whoever has nobody else to serve. */
export const runThrough = <T>(steps: Steps<T>): T => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
