import { isBlobStoreMark } from '../../core/files/blob-store-mark.ts'
import { isBucketId } from '../../core/files/bucket-id.ts'
import { isName } from '../../core/names.ts'
import { OperatorError } from '../../core/operator-error.ts'
import type { Table } from '../../store/tables.ts'
import type { Dump } from '../../store/transfer.ts'

// Requests can give no other names than these, but a store may have been written by somebody else. Commands make paths of
// names. Those of files are checked with their bytes: see copy-files.ts.

const kinds: readonly string[] = ['table', 'bucket', 'task']

/** Returns why no request could have made this table, bucket or task; undefined if one could. */
export const tableFault = ({ id, kind, db, name, publicId }: Table): string | undefined => {
  const isNot = (what: string, value: unknown): string => `${kind} ${id}: its ${what} is ${JSON.stringify(value)}`
  if (!kinds.includes(kind)) return `table ${id}: its kind is ${JSON.stringify(kind)}`
  if (!isName(db)) return `${isNot('database', db)}, which is no name`
  if (!isName(name)) return `${isNot('name', name)}, which is none`
  return kind === 'bucket' && !isBucketId(publicId ?? '') ? isNot('id in URLs', publicId) : undefined
}

export interface NameFinding {
  /** undefined if it is of no table. */
  tableId: number | undefined
  line: string
}

/** One finding for each organization, table, bucket or task that no request could have made, and for such a mark. */
export async function* checkNames(dump: Dump): AsyncIterable<NameFinding> {
  for (const { id, name } of await dump.organizations()) {
    if (isName(name)) continue
    yield { tableId: undefined, line: `organization ${id}: its name is ${JSON.stringify(name)}, which is none` }
  }
  for await (const table of dump.tables()) {
    const line = tableFault(table)
    if (line !== undefined) yield { tableId: table.id, line }
  }
  const mark = await dump.fileMark()
  if (mark === undefined || isBlobStoreMark(mark)) return
  yield { tableId: undefined, line: `the mark of the place of files is ${JSON.stringify(mark)}` }
}

/** Throws the first finding, for a command that makes something of the store. */
export const requireNames = async (dump: Dump): Promise<void> => {
  for await (const { line } of checkNames(dump)) throw new OperatorError(`${line}; see cubby verify`)
}
