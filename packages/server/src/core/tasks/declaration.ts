import { backoffSecondsMax } from '../limits.ts'
import type { Followed } from './following.ts'
import type { Schedule } from './schedule.ts'

/** A task as it was declared, with the defaults filled in. */
export interface Declaration {
  /** The URL that runs are pushed to; null: workers claim them. */
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
  /** The table whose writes add runs. */
  on: Followed | null
}

/** Takes the text of a stored declaration. Before version 0.3 no task could follow a table. */
export const readStoredDeclaration = (text: string): Declaration => {
  const stored = JSON.parse(text) as Omit<Declaration, 'on'> & Partial<Declaration>
  return { ...stored, on: stored.on ?? null }
}

/** The reason why a declaration cannot keep the present `authorization`: there is none, or the origin of the url changes. */
export type NotKept = 'authorization' | 'origin'

/**
 * A caller who keeps the header may never have seen it, so it stays with the origin that it was declared for. No url counts as
 * an origin of its own: otherwise a first declaration would remove the url, and a second one would give another.
 */
export const whyNotKept = (present: Declaration | undefined, url: string | null): NotKept | undefined => {
  if (present === undefined || present.authorization === null) return 'authorization'
  return originOf(present.url) === originOf(url) ? undefined : 'origin'
}

const originOf = (url: string | null): string | null => (url === null ? null : new URL(url).origin)

/** The attempt after attempt `attempt` waits this long. `random` is from 0 to 1. */
export const backoffMs = (
  { backoffSeconds }: Pick<Declaration, 'backoffSeconds'>,
  attempt: number,
  random: number,
): number => Math.round(Math.min(backoffSeconds * 2 ** (attempt - 1), backoffSecondsMax) * 1000 * (0.5 + random / 2))
