import type { Page, RecordRow } from '../../api/types.ts'
import { lineOf } from './rows.ts'

// Counts and exports go over all pages of a query. `read` asks for the page after a cursor.

type ReadPage = (cursor: string | undefined) => Promise<Page<RecordRow>>

interface Steps {
  read: ReadPage
  onProgress: (count: number) => void
  signal: AbortSignal
}

interface Total {
  count: number
  /** False if it was stopped: there are more. */
  isWhole: boolean
}

const forEachPage = async (
  { read, onProgress, signal }: Steps,
  take: (page: Page<RecordRow>) => void,
): Promise<Total> => {
  let cursor: string | undefined
  let count = 0
  while (!signal.aborted) {
    const page = await read(cursor)
    take(page)
    count += page.count
    onProgress(count)
    if (page.cursor === null) return { count, isWhole: true }
    cursor = page.cursor
  }
  return { count, isWhole: false }
}

export const countAll = (steps: Steps): Promise<Total> => forEachPage(steps, () => {})

/** `10,000+` while there may be more. */
export const totalWords = ({ count, isWhole }: Total): string => `${count.toLocaleString('en')}${isWhole ? '' : '+'}`

/** The browser may keep parts of this size outside the memory of the page. */
const partCharacters = 4_000_000

/** The records as NDJSON, in the shape that `cubby import` takes. */
export const exportAll = async (
  steps: Steps,
  place: { db: string; table: string },
): Promise<Total & { blob: Blob }> => {
  const parts: Blob[] = []
  let text = ''
  const total = await forEachPage(steps, ({ items }) => {
    for (const record of items) text += `${lineOf(record, place)}\n`
    if (text.length < partCharacters) return
    parts.push(new Blob([text]))
    text = ''
  })
  return { ...total, blob: new Blob([...parts, text], { type: 'application/x-ndjson' }) }
}
