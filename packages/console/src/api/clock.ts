import { signal } from '@preact/signals'

// The server's time. The clock of this machine may be wrong by hours, and everything expires by the server's clock.

let aheadMs = 0
/**
 * Smaller differences are ignored: they come from the time that the response takes, and from `Date`, which is in whole
 * seconds.
 */
const differenceMsMin = 5_000

/** `date` is the header of an answer that has just arrived. */
export const learnTime = (date: string | null): void => {
  const differenceMs = Date.parse(date ?? '') - Date.now()
  if (!Number.isNaN(differenceMs)) aheadMs = Math.abs(differenceMs) < differenceMsMin ? 0 : differenceMs
  tickAges()
}

export const serverNowMs = (): number => Date.now() + aheadMs

/** The time that all ages on the page are counted from, so that they agree with each other. */
export const agesNowMs = signal(serverNowMs())
const stepMs = 5_000

/**
 * Advances the ages. A step is shorter than the time that is shown as "just now", so that no write appears to be in the
 * future.
 */
export const tickAges = (): void => {
  const nowMs = serverNowMs()
  if (Math.abs(nowMs - agesNowMs.peek()) >= stepMs) agesNowMs.value = nowMs
}
