import { pageRowsMax } from '../../core/limits.ts'
import { printLine } from '../print.ts'
import type { Remote } from '../target/remote.ts'
import { queryPages } from './pages.ts'
import { printObjects } from './write-lines.ts'

interface FileListing {
  db: string
  bucket: string
  prefix: string | undefined
  newest: boolean
  filesMax: number
}

/** The files as JSON texts, page by page. */
async function* pagesOf(remote: Remote, listing: FileListing): AsyncIterable<string[]> {
  const { db, bucket, prefix, newest, filesMax } = listing
  const query: Record<string, string> = { limit: String(Math.min(filesMax, pageRowsMax)) }
  if (prefix !== undefined) query.prefix = JSON.stringify(prefix)
  if (newest) query.index = '"t"'
  let left = filesMax
  for await (const { items } of queryPages(remote, db, `_buckets/${bucket}`, query)) {
    yield items.slice(0, left)
    left -= items.length
    if (left <= 0) return
  }
}

export const printFilesAsJson = (remote: Remote, listing: FileListing): Promise<void> =>
  printObjects(pagesOf(remote, listing))

/** Shows the time to the second, and without a space, so that columns can be split. */
export const showTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 'YYYY-MM-DDTHH:mm:ss'.length)}Z`

const row = (updated: string, size: string, visibility: string, name: string): string =>
  `${updated.padEnd(20)}  ${size.padStart(10)}  ${visibility.padEnd(10)}  ${name}`

/** The columns have the same width on every page; the name is last, since it may be long and have spaces. */
export const printFiles = async (remote: Remote, listing: FileListing): Promise<void> => {
  let hasHeader = false
  for await (const items of pagesOf(remote, listing)) {
    // The header comes with the first page, even an empty one: a request that fails prints nothing here.
    if (!hasHeader) printLine(row('UPDATED', 'SIZE', 'VISIBILITY', 'NAME'))
    hasHeader = true
    for (const item of items) {
      const { updatedAt, size, visibility, name } = JSON.parse(item)
      printLine(row(showTime(updatedAt), String(size), visibility, name))
    }
  }
}
