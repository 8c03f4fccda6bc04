import { printTable } from '../print.ts'
import { showTime } from './file-list.ts'

// The tables, buckets or tasks of a database as a table for people.

interface Listed {
  status: string
  createdAt: number
  deletedAt?: number
}

interface ListedTable extends Listed {
  table: string
  indices: Record<string, { hashField: string; rangeField?: string }>
}

interface ListedBucket extends Listed {
  bucket: string
  id: string
}

interface ListedTask extends Listed {
  task: string
  url: string | null
  paused: boolean
  schedule: { nextRunAt: number | null } | null
  oldestRunAt: number | null
}

const orNone = (ms: number | null | undefined): string => (ms === null || ms === undefined ? '-' : showTime(ms))

/** The same words as the flags that declare them: `i1=status,placedAt`. */
const showIndices = ({ indices }: ListedTable): string =>
  Object.entries(indices)
    .map(([slot, { hashField, rangeField }]) => `${slot}=${[hashField, rangeField].filter(Boolean).join(',')}`)
    .join(' ') || '-'

const stateOf = ({ paused, deletedAt }: ListedTask): string => {
  if (deletedAt !== undefined) return 'deleted'
  return paused ? 'paused' : 'active'
}

type Rows<Entry> = readonly [heading: string[], rowOf: (entry: Entry) => string[]]

const tables: Rows<ListedTable> = [
  ['TABLE', 'STATUS', 'CREATED', 'DELETED', 'INDICES'],
  (one) => [one.table, one.status, showTime(one.createdAt), orNone(one.deletedAt), showIndices(one)],
]

const buckets: Rows<ListedBucket> = [
  ['BUCKET', 'STATUS', 'CREATED', 'DELETED', 'ID'],
  (one) => [one.bucket, one.status, showTime(one.createdAt), orNone(one.deletedAt), one.id],
]

const tasks: Rows<ListedTask> = [
  ['TASK', 'STATE', 'OLDEST DUE RUN', 'NEXT RUN', 'PUSHED TO'],
  (one) => [one.task, stateOf(one), orNone(one.oldestRunAt), orNone(one.schedule?.nextRunAt), one.url ?? '-'],
]

/** A database has few of them, so all rows are read before the first is printed. `pages`: the entries as JSON texts. */
const printAll =
  <Entry>([heading, rowOf]: Rows<Entry>) =>
  async (pages: AsyncIterable<string[]>): Promise<void> => {
    const rows = [heading]
    for await (const texts of pages) for (const text of texts) rows.push(rowOf(JSON.parse(text)))
    printTable(rows)
  }

export const printCollections = { table: printAll(tables), bucket: printAll(buckets), task: printAll(tasks) }
