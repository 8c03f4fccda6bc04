import { pageRowsMax } from '../../core/limits.ts'
import type { RunStatus } from '../../core/tasks/run.ts'
import { printNote, printTable } from '../print.ts'
import type { Remote } from '../target/remote.ts'
import { showTime } from './file-list.ts'
import { queryPages } from './pages.ts'
import { printObjects } from './write-lines.ts'

export interface RunListing {
  db: string
  task: string
  status: RunStatus | undefined
  oldestFirst: boolean
  runsMax: number
}

interface ListedRun {
  id: string
  status: RunStatus
  /** A public key does not see it. */
  key?: string | null
  runAt: number
  attempt: number
  error: { code: string; message: string } | null
  updatedAt: number
}

const queryOf = ({ status, oldestFirst }: RunListing): Record<string, string> => ({
  ...(status !== undefined && { status: JSON.stringify(status) }),
  ...(oldestFirst && { ascending: 'true' }),
})

const pagesOf = (remote: Remote, listing: RunListing, more: Record<string, string>) =>
  queryPages(remote, listing.db, `_tasks/${listing.task}`, { ...queryOf(listing), ...more })

/** The runs as JSON texts, page by page. Says at the end if there are more. */
export async function* runTexts(remote: Remote, listing: RunListing): AsyncIterable<string[]> {
  let left = listing.runsMax
  const limit = String(Math.min(left, pageRowsMax))
  for await (const { items, cursor } of pagesOf(remote, listing, { limit })) {
    yield items.slice(0, left)
    const isMore = items.length > left || cursor !== null
    left -= items.length
    if (left > 0) continue
    // The note is on standard error: without it the last line would look like the last run.
    if (isMore) printNote('there are more: give a larger --limit')
    return
  }
}

export const printRunsAsJson = (remote: Remote, listing: RunListing): Promise<void> =>
  printObjects(runTexts(remote, listing))

const header = ['STATUS', 'ATTEMPT', 'RUN AT', 'UPDATED', 'ID', 'KEY', 'ERROR']

const cut = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`

/** The error is last, since it may be long and have spaces. */
const rowOf = ({ status, attempt, runAt, updatedAt, id, key, error }: ListedRun): string[] => [
  status,
  String(attempt),
  showTime(runAt),
  showTime(updatedAt),
  id,
  cut(key ?? '-', 40),
  error === null ? '-' : cut(`${error.code}: ${error.message}`, 200),
]

/** Columns are as wide as a page needs. */
export const printRuns = async (remote: Remote, listing: RunListing): Promise<void> => {
  let rows = [header]
  for await (const runs of runTexts(remote, listing)) {
    printTable([...rows, ...runs.map((run) => rowOf(JSON.parse(run)))])
    rows = []
  }
}

/** Counts to the end: a script must not take a part for the whole. */
export const countRuns = async (remote: Remote, listing: RunListing): Promise<number> => {
  let total = 0
  for await (const { count } of pagesOf(remote, listing, { select: '"count"' })) total += count
  return total
}
