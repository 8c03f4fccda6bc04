import { batchOperationsMax } from '../../packages/server/src/core/limits.ts'
import type { Statement, Value } from '../../packages/server/src/engines/postgres/connection/driver.ts'
import { getRecord, scanRecords } from '../../packages/server/src/engines/postgres/records/read-statements.ts'
import { indexColumns, putAlone } from '../../packages/server/src/engines/postgres/records/statements.ts'

// The four statements for the comparison of drivers, with values for one call each. They are the engine's own statements.

export const recordCount = 200_000
export const pageRows = 50

const pad = 'x'.repeat(300)
const random = (below: number): number => Math.floor(Math.random() * below)
const bytes = (text: string): Buffer => Buffer.from(text)
const nowSeconds = 1_750_000_000

export const keyOf = (n: number): string => `k${String(n).padStart(8, '0')}`

/** The record's columns in the order of `put`: table, key, data, ttl, time, entries of i1 and i2. */
const rowOf = (n: number): Value[] => [
  ...[1, bytes(keyOf(n)), bytes('#'), `{"status":"open","n":${n},"pad":"${pad}"}`, null, Date.now()],
  ...[bytes(`sopen${n % 100}`), bytes(`n${String(n).padStart(16, '0')}`), bytes(`su${n % 1000}`), bytes('')],
  ...indexColumns.slice(4).map(() => null),
]

export const get: Statement = getRecord
export const getValues = (): Value[] => [1, bytes(keyOf(random(recordCount))), bytes('#'), nowSeconds]

export const put: Statement = putAlone('none', true)
export const putValues = (): Value[] => [...rowOf(random(recordCount)), nowSeconds, 1]

export const page: Statement = scanRecords('i1', false)
export const pageValues = (): Value[] => [
  ...[1, nowSeconds, pageRows + 251, 10_000, pageRows, 1_048_576, 1],
  ...[bytes(`n${String(random(recordCount / 2)).padStart(16, '0')}`), Buffer.from([0xff]), 0],
  bytes(`sopen${random(100)}`),
]

/** Distinct and sorted, as the engine sends them. Otherwise, batches with common records could deadlock. */
const batchRows = (): Value[][] => {
  const chosen = new Set<number>()
  while (chosen.size < batchOperationsMax) chosen.add(random(recordCount))
  return [...chosen].sort((a, b) => a - b).map(rowOf)
}

const columns = rowOf(0).length
const columnTypes = ['bigint', 'bytea', 'bytea', 'text', 'bigint', 'bigint', ...indexColumns.map(() => 'bytea')]
const columnNames = `id, table_id, hash_key, range_key, data, ttl_seconds, updated_at, ${indexColumns.join(', ')}`

/** One statement with 25 rows of VALUES, which every driver can send. */
export const batch: Statement = {
  name: 'batch_values',
  text: `insert into cubby_record_8 as r (${columnNames}) values ${Array.from(
    { length: batchOperationsMax },
    (_, row) =>
      `((select nextval('cubby_record_id')) + ${row}, ${columnTypes
        .map((type, column) => `$${row * columns + column + 1}::${type}`)
        .join(', ')})`,
  ).join(', ')}
  on conflict (table_id, hash_key, range_key) do update set data = excluded.data, ttl_seconds = excluded.ttl_seconds,
    updated_at = greatest(excluded.updated_at, r.updated_at + 1),
    ${indexColumns.map((column) => `${column} = excluded.${column}`).join(', ')} returning r.updated_at`,
}
export const batchValues = (): Value[] => batchRows().flat()
