import { isBlobId, isStoreBlobId, neverDueMs } from '../../../core/files/blob-id.ts'
import { type Statement, type Step, type StepResult, step } from '../connection/driver.ts'

/** Reads of a check, on a connection of its own. */
export type Read = (...steps: Step[]) => Promise<StepResult[]>

const blobsPerStep = 500

// Each statement sees one state of the store, so a file that is written meanwhile is no finding: the state of a blob and the
// records that refer to it are read together.

/** The blobs of a bucket after $2, and how many records refer to each: more than one is enough to know. */
export const nextBlobs: Statement = {
  name: 'check_blobs',
  text: `select b.id, b.state, b.due_at_ms, (select count(*) from (select 1 from cubby_record r
      where r.table_id = $1::bigint and r.i3_hash = convert_to('f' || b.id, 'UTF8') limit 2) as x), b.bytes is not null
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

/** A file that refers to a blob which is not live is found with that file. */
const isSound = (id: string, state: string, due: string | null, files: string): boolean => {
  if (!isBlobId(id) && !isStoreBlobId(id)) return false
  if (state === 'live') return (due === null || Number(due) === neverDueMs) && files === '1'
  return ['pending', 'dead', 'removing'].includes(state) && due !== null
}

export async function* checkBlobs(read: Read, tableId: number): AsyncIterable<string> {
  for (let last = ''; ; ) {
    const [found] = await read(step(nextBlobs, tableId, last, blobsPerStep))
    for (const [id, state, due, files, hasBytes] of found!.rows) {
      if (state === 'live' && isStoreBlobId(id!) !== (hasBytes === 't')) {
        yield `blob ${id} (bucket ${tableId}): its bytes are ${hasBytes === 't' ? '' : 'not '}in the store`
      }
      if (isSound(id!, state!, due!, files!)) continue
      yield `blob ${id} (bucket ${tableId}) is ${state}: ${files} files refer to it, due at ${due}`
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
