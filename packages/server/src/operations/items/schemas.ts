import { dataBytesMax, dataDepthMax } from '../../core/limits.ts'
import { freeObject, number, ref, type Schema } from '../schema.ts'

const name = '[a-z0-9-][a-z0-9_-]{0,63}'

export const itemSchemas = {
  Item: freeObject(
    `The \`data\` of a record: any JSON object of at most ${number(dataBytesMax)} bytes and ${dataDepthMax} levels. It is returned exactly as it was sent, without the white space around it.`,
  ),
} satisfies Record<string, Schema>

// ── Members of inputs ──────────────────────────────────────────────────────────────────────────────────────

export const itemMembers = {
  collection: {
    type: 'string',
    pattern: `^(${name}\\.)?${name}$`,
    minLength: 1,
    maxLength: 129,
    description: 'The database and the table, as `db.table`; `table` alone is in the database `default`.',
  },
  id: { ...ref('RecordKeyPart'), description: "The record's hash key." },
  rangeKey: { ...ref('RecordKeyPart'), description: "The record's range key, if it has one." },
} satisfies Record<string, Schema>

export const itemRequired = ['collection', 'id']
