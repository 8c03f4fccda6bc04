import { signal } from '@preact/signals'

// The server's time. The clock of this machine may be wrong by hours, and what expires goes by the server's.

let aheadMs = 0
/** Smaller differences are the way of the answer, and the seconds that `Date` is rounded down to. */
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

/** Lets the ages go on. A step is shorter than what is called "just now": nothing that was just written is in the future. */
export const tickAges = (): void => {
  const nowMs = serverNowMs()
  if (Math.abs(nowMs - agesNowMs.peek()) >= stepMs) agesNowMs.value = nowMs
}
