import { type Indices, indexEntries, slots } from '../../core/indices.ts'
import { bytesOfHex, fromHex } from './bytes.ts'
import type { Row, Session, Statement, Step } from './driver.ts'
import { toCallersError } from './failure.ts'
import { idStride, indexColumns } from './statements.ts'

/** Rows a statement looks at: few, because each may be large. */
const rowsPerStep = 100

const step = (statement: Statement, ...values: Step['values']): Step => ({ statement, values })

const keysWithoutOrganization: Statement = {
  name: 'check_keys',
  text: `select 'api key ' || k.id || ' belongs to no organization' from cubby_api_keys k
    where not exists (select 1 from cubby_organizations o where o.id = k.org_id)`,
}

const tablesWithoutOrganization: Statement = {
  name: 'check_tables',
  text: `select 'table ' || t.id || ' belongs to no organization' from cubby_tables t
    where not exists (select 1 from cubby_organizations o where o.id = t.org_id)`,
}

const nextRecords: Statement = {
  name: 'check_records',
  text: `select r.id, r.table_id, r.hash_key, r.range_key, r.data,
      (select t.indices from cubby_tables t where t.id = r.table_id), ${indexColumns.map((column) => `r.${column}`).join(', ')}
    from cubby_records r where (r.table_id, r.hash_key, r.range_key) > ($1::bigint, $2::bytea, $3::bytea)
    order by r.table_id, r.hash_key, r.range_key limit $4::bigint`,
}

const lastId: Statement = {
  name: 'check_ids',
  text: 'select last_value from cubby_record_ids',
}

/**
 * Verifies the store: each record's index values against its data, that its id was given out, and that everything
 * belongs to something that exists. That index entries and rows agree is the database's own promise.
 */
export async function* checkStore(open: () => Promise<Session>): AsyncIterable<string> {
  const session = await open()
  try {
    yield* check(session)
  } catch (error) {
    throw toCallersError(error, false)
  } finally {
    await session.close()
  }
}

async function* check(session: Session): AsyncIterable<string> {
  const read = (...steps: Step[]) => session.send(steps, Number.POSITIVE_INFINITY)
  const [keys, tables] = await read(step(keysWithoutOrganization), step(tablesWithoutOrganization))
  for (const row of [...keys!.rows, ...tables!.rows]) yield row[0]!
  let place: Step['values'] = [0, Buffer.alloc(0), Buffer.alloc(0)]
  for (;;) {
    // The ids are asked for behind the records: those that are made meanwhile have been given out by then.
    const [found, ids] = await read(step(nextRecords, ...place, rowsPerStep), step(lastId))
    const { rows } = found!
    if (rows.length === 0) return
    for (const row of rows) {
      const finding = checkRecord(row, Number(ids!.rows[0]![0]))
      if (finding !== undefined)
        yield `record ${row[0]} (table ${row[1]}, ${JSON.stringify(fromHex(row[2]!))}): ${finding}`
    }
    const [, tableId, hashKey, rangeKey] = rows.at(-1)!
    place = [tableId!, ...[hashKey!, rangeKey!].map(bytesOfHex)]
  }
}

const checkRecord = (row: Row, lastDrawnId: number): string | undefined => {
  const [id, , , , text, declared, ...stored] = row
  if (declared == null) return 'its table does not exist'
  if (Number(id) >= lastDrawnId + idStride) return 'its id was never given out'
  let data: unknown
  try {
    data = JSON.parse(text!)
  } catch {
    return 'its data is not JSON'
  }
  let expected: (string | null)[]
  try {
    expected = indexEntries(JSON.parse(declared) as Indices, data as Record<string, unknown>)
  } catch (error) {
    return `its data cannot be indexed: ${(error as Error).message}`
  }
  const wrong = expected.findIndex((value, i) => value !== (stored[i] == null ? null : fromHex(stored[i]!)))
  return wrong < 0 ? undefined : `${slots[wrong >> 1]} does not hold what its data says`
}
