import { randomBase62 } from '../text/base62.ts'

/** The id of a run whose caller gave none. */
export const newRunId = (): string => `run_${randomBase62(22)}`

/** Proof that the holder of an attempt is the one to whom it was handed. */
export const newLease = (): string => `lease_${randomBase62(22)}`
