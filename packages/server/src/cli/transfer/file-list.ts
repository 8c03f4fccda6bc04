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
  folders: boolean
  filesMax: number
}

/** The name of a file, or the folder of `{"folder":"cats/"}`, as bytes. */
const nameBytes = (entry: string): Buffer => {
  const { name, folder } = JSON.parse(entry)
  return Buffer.from(name ?? folder)
}

/** The page has files and folders in two lists; they are merged by name. */
const mergeFolders = (items: string[], folders: string[]): string[] =>
  [...items, ...folders.map((folder) => `{"folder":${folder}}`)]
    .map((text) => ({ text, name: nameBytes(text) }))
    .sort((a, b) => a.name.compare(b.name))
    .map(({ text }) => text)

/** The files and folders as JSON texts, page by page. */
async function* pagesOf(remote: Remote, listing: FileListing): AsyncIterable<string[]> {
  const { db, bucket, prefix, newest, folders, filesMax } = listing
  const query: Record<string, string> = { limit: String(Math.min(filesMax, pageRowsMax)) }
  if (prefix !== undefined) query.prefix = JSON.stringify(prefix)
  if (newest) query.index = '"t"'
  if (folders) query.folders = 'true'
  let left = filesMax
  for await (const page of queryPages(remote, db, `_buckets/${bucket}`, query)) {
    const entries = folders ? mergeFolders(page.items, page.folders) : page.items
    yield entries.slice(0, left)
    left -= entries.length
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
  for await (const entries of pagesOf(remote, listing)) {
    // The header comes with the first page, even an empty one: a request that fails prints nothing here.
    if (!hasHeader) printLine(row('UPDATED', 'SIZE', 'VISIBILITY', 'NAME'))
    hasHeader = true
    for (const entry of entries) {
      const { updatedAt, size, visibility, name, folder } = JSON.parse(entry)
      printLine(
        folder === undefined ? row(showTime(updatedAt), String(size), visibility, name) : row('-', '-', '-', folder),
      )
    }
  }
}
