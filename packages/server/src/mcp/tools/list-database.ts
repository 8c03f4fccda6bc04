import { CubbyError } from '../../core/errors.ts'
import { toolResponseBytesMax } from '../../core/limits.ts'
import { presentBucket } from '../../operations/buckets/present-bucket.ts'
import { listOfDatabase, presentLife } from '../../operations/lifecycle.ts'
import { parseListing } from '../../operations/listing.ts'
import { listDatabases as readDatabases } from '../../operations/tables/list-databases.ts'
import { presentTable } from '../../operations/tables/present-table.ts'
import type { Table, TableKind } from '../../store/tables.ts'
import type { ToolCall } from './tool.ts'

const rowsMax = 100

/** Reads with fewer rows until the answer fits. */
const fitting = async (read: (rows: number) => Promise<string>): Promise<string> => {
  for (let rows = rowsMax; ; rows = Math.ceil(rows / 2)) {
    const text = await read(rows)
    if (rows === 1 || Buffer.byteLength(text) <= toolResponseBytesMax) return text
  }
}

/** A name has at most 64 characters, so a page of names always fits. */
export const listDatabases = async ({ access, nowMs }: ToolCall, cursor: unknown): Promise<string> =>
  JSON.stringify(await readDatabases(access, parseListing({ limit: rowsMax, cursor: cursor ?? undefined }), nowMs))

interface Part {
  name: 'tables' | 'buckets' | 'tasks'
  kind: TableKind
  /** The first letter of its cursors. */
  letter: string
  present(table: Table): unknown
}

/** A task without its target and its payloads, which may be secrets of the people who declared it. */
const presentTask = (task: Table) => ({ db: task.db, task: task.name, ...presentLife(task) })

const parts: readonly Part[] = [
  { name: 'tables', kind: 'table', letter: 't', present: presentTable },
  { name: 'buckets', kind: 'bucket', letter: 'b', present: presentBucket },
  { name: 'tasks', kind: 'task', letter: 'k', present: presentTask },
]

const partsOf = ({ access: { apiKey } }: ToolCall): readonly Part[] =>
  apiKey.kind === 'public' ? parts.filter(({ kind }) => kind !== 'task') : parts

/** A cursor goes on in one part: its first letter says in which. */
const positionOf = (cursor: unknown, parts: readonly Part[]): { from: number; cursor: string | undefined } => {
  if (cursor === undefined || cursor === null) return { from: 0, cursor: undefined }
  const from = typeof cursor === 'string' ? parts.findIndex(({ letter }) => cursor.startsWith(letter)) : -1
  if (from >= 0) return { from, cursor: (cursor as string).slice(1) || undefined }
  throw new CubbyError('invalid_cursor', 'cursor is not one of this tool.', {
    field: 'cursor',
    hint: 'Leave it out for the first page, or send the cursor of the last answer.',
  })
}

/** The tables of a database, then its buckets, then its tasks. */
export const listDatabase = (call: ToolCall, db: string, deleted: boolean, cursor: unknown): Promise<string> => {
  const { access, nowMs } = call
  const parts = partsOf(call)
  const position = positionOf(cursor, parts)
  return fitting(async (rows) => {
    const answer: Record<string, unknown> = { db }
    let left = rows
    for (let i = position.from; i < parts.length; i++) {
      const { name, kind, letter, present } = parts[i]!
      if (left === 0) return JSON.stringify({ ...answer, cursor: letter })
      const input = { db, deleted, limit: left, cursor: i === position.from ? position.cursor : undefined }
      const page = await listOfDatabase(kind)(access, input, nowMs)
      answer[name] = page.rows.map(present)
      if (page.cursor !== null) return JSON.stringify({ ...answer, cursor: letter + page.cursor })
      left -= page.rows.length
    }
    return JSON.stringify({ ...answer, cursor: null })
  })
}
