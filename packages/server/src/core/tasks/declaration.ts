import { backoffSecondsMax } from '../limits.ts'
import type { Schedule } from './schedule.ts'

/** A task as it was declared, with the defaults filled in. */
export interface Declaration {
  /** Where runs are pushed; null: workers claim them. */
  url: string | null
  /** Sent as the header `authorization` of a push. */
  authorization: string | null
  leaseSeconds: number
  attempts: number
  backoffSeconds: number
  /** Runs at once; null: any number. A task with `url` always has a number. */
  concurrency: number | null
  keepSeconds: number
  paused: boolean
  schedule: Schedule | null
}

/** The attempt after attempt `attempt` waits this long. `random` is from 0 to 1. */
export const backoffMs = (
  { backoffSeconds }: Pick<Declaration, 'backoffSeconds'>,
  attempt: number,
  random: number,
): number => Math.round(Math.min(backoffSeconds * 2 ** (attempt - 1), backoffSecondsMax) * 1000 * (0.5 + random / 2))
