// The server's time. The clock of this machine may be wrong by hours, and what expires goes by the server's.

let aheadMs = 0
/** Smaller differences are the way of the answer, and the seconds that `Date` is rounded down to. */
const differenceMsMin = 5_000

/** `date` is the header of an answer that has just arrived. */
export const learnTime = (date: string | null): void => {
  const differenceMs = Date.parse(date ?? '') - Date.now()
  if (!Number.isNaN(differenceMs)) aheadMs = Math.abs(differenceMs) < differenceMsMin ? 0 : differenceMs
}

export const serverNowMs = (): number => Date.now() + aheadMs
