import type { Row, Statement } from '../connection/driver.ts'
import { type Read, step } from './check-read.ts'

const blobsPerStep = 500

// Each statement sees one state of the store, so a file that is written meanwhile is no finding: the state of a blob and the
// records that refer to it are read together.

/** The blobs of a bucket after $2, and how many records refer to each: more than one is enough to know. */
const nextBlobs: Statement = {
  name: 'check_blobs',
  text: `select b.id, b.state, b.due_at_ms, (select count(*) from (select 1 from cubby_record r
      where r.table_id = $1::bigint and r.i3_hash = convert_to('f' || b.id, 'UTF8') limit 2) as x)
    from cubby_blob b where b.table_id = $1::bigint and b.id > $2 order by b.id limit $3::bigint`,
}

/** Live blobs whose table is no bucket. */
const strayBlobs: Statement = {
  name: 'check_stray_blobs',
  text: `select b.table_id, b.id from cubby_blob b
    where (b.table_id, b.id) > ($1::bigint, $2) and b.state = 'live'
      and not exists (select 1 from cubby_table t where t.id = b.table_id and t.kind = 'bucket')
    order by b.table_id, b.id limit $3::bigint`,
}

const findingOf = ([, state, due, references]: Row): string | undefined => {
  switch (state) {
    case 'live':
      if (due !== null) return 'it is live and has a time to be removed'
      if (references === '0') return 'it is live and no file refers to it'
      return references === '1' ? undefined : 'several files refer to it'
    case 'pending':
    case 'dead':
    case 'removing':
      // Whether a file refers to it is found with that file.
      return due === null ? `it is ${state} and has no time to be removed` : undefined
    default:
      return `its state is not known: ${JSON.stringify(state)}`
  }
}

export async function* checkBlobs(read: Read, tableId: number): AsyncIterable<string> {
  for (let last = ''; ; ) {
    const [found] = await read(step(nextBlobs, tableId, last, blobsPerStep))
    for (const row of found!.rows) {
      const finding = findingOf(row)
      if (finding !== undefined) yield `blob ${row[0]} (bucket ${tableId}): ${finding}`
    }
    if (found!.rows.length < blobsPerStep) return
    last = found!.rows.at(-1)![0]!
  }
}

export async function* checkStrayBlobs(read: Read): AsyncIterable<[tableId: number, finding: string]> {
  let place: [number, string] = [Number.MIN_SAFE_INTEGER, '']
  for (;;) {
    const [found] = await read(step(strayBlobs, ...place, blobsPerStep))
    for (const [tableId, id] of found!.rows) {
      yield [Number(tableId), `blob ${id} (bucket ${tableId}): its bucket does not exist`]
    }
    if (found!.rows.length < blobsPerStep) return
    const [tableId, id] = found!.rows.at(-1)!
    place = [Number(tableId), id!]
  }
}

/** What is wrong with the blob of a file; `state` is null if it has no row. */
export const blobFinding = (id: string, state: string | null): string | undefined => {
  if (state === null) return `its blob ${id} has no row`
  return state === 'live' ? undefined : `its blob ${id} is ${state}`
}
