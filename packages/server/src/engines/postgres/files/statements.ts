import { isBlobId, isStoreBlobId } from '../../../core/files/blob-id.ts'
import { fromHex } from '../connection/bytes.ts'
import type { Statement } from '../connection/driver.ts'
import { expired, newId, overwriteWith, raising, recordColumns, rowOf, theRecord } from '../records/statements.ts'

// The statements for files, beside those for records. A file's record and its blob have the same table id, so a transaction on
// them stays on one worker of Citus. Only the sweep of blobs, and statements that name a blob by its id alone, ask all workers.
//
// Every transaction locks the file's record first. A live blob is only locked by one that holds its record, and a pending one
// by its upload; the sweep of blobs waits for nobody. So no two transactions deadlock.

// ── Records ────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 $3 the record key; then as in a put.

/** Locks the row of a file, also an expired one, until the end of the transaction. */
export const lockFile: Statement = {
  name: 'file_lock',
  text: `select r.updated_at, r.ttl_seconds, r.i3_hash, r.data from cubby_record_8 as r where ${theRecord} for update`,
}

/** Fails if there is a row with this key: another process was faster. No file has an empty hash key. */
export const insertFile: Statement = {
  name: 'file_insert',
  text: `insert into cubby_record_8 as r (${recordColumns}) values (${rowOf(newId)})
    on conflict (table_id, hash_key, range_key) do update set id = r.id where ${raising(`r.hash_key = ''::bytea`)} = 1`,
}

export const deleteFile: Statement = {
  name: 'file_delete',
  text: `delete from cubby_record_8 as r where ${theRecord}`,
}

// ── Blobs ──────────────────────────────────────────────────────────────────────────────────────────────────
// $1 table, $2 blob, $3 when it is due.

const theBlob = 'b.table_id = $1::bigint and b.id = $2'

export const insertBlob: Statement = {
  name: 'blob_insert',
  text: `insert into cubby_blob_8 (table_id, id, state, due_at_ms) values ($1::bigint, $2, 'pending', $3::bigint)`,
}

/** $1 table, $2 blob, $3 the bytes of a small file. It runs in the transaction of the file's record. */
export const insertLiveBlob: Statement = {
  name: 'blob_insert_live',
  text: `insert into cubby_blob_8 (table_id, id, state, bytes) values ($1::bigint, $2, 'live', $3::bytea)`,
}

/** $1 table, $2 blob. */
export const readBytes: Statement = {
  name: 'blob_bytes',
  text: `select b.bytes from cubby_blob_8 b where ${theBlob}`,
}

/** Fails if the blob is not pending. */
export const makeLive: Statement = {
  name: 'blob_live',
  text: `with w as (update cubby_blob_8 as b set state = 'live', due_at_ms = null where ${theBlob} and b.state = 'pending'
    returning b.id) select 1 / count(*) from w`,
}

/** Returns a row if the blob is pending. */
export const isPending: Statement = {
  name: 'blob_is_pending',
  text: `select 1 from cubby_blob_8 b where ${theBlob} and b.state = 'pending'`,
}

/**
 * Makes a blob dead whose record is removed or replaced. A blob that is never due stays so. A blob that has lost its row gets
 * one, because its bytes may exist.
 */
const orDead = `on conflict (table_id, id) do update set state = 'dead', due_at_ms = greatest(coalesce(b.due_at_ms, 0), excluded.due_at_ms)
  where b.state = 'live'`

export const makeDead: Statement = {
  name: 'blob_dead',
  text: `insert into cubby_blob_8 as b (table_id, id, state, due_at_ms) values ($1::bigint, $2, 'dead', $3::bigint) ${orDead}`,
}

/** A row is a file if its entry in i3 has this tag (`blobHash`). No value of a table's index has it. */
export const isFile = (alias: string): string => `substr(${alias}.i3_hash, 1, 1) = 'f'::bytea`

/** Returns the blob that a file's entry in i3 names, or undefined if the entry is damaged. */
export const blobOfEntry = (entry: string | null | undefined): string | undefined => {
  const text = entry == null ? '' : fromHex(entry)
  const id = text.slice(1)
  return text.startsWith('f') && (isBlobId(id) || isStoreBlobId(id)) ? id : undefined
}

/**
 * Makes the blobs of the rows of `source` dead, which have table_id and i3_hash. ON CONFLICT uses the primary key whatever the
 * planner knows; a join could become a scan of all blobs.
 */
export const makeDeadAll = (source: string, dueParameter: number): string =>
  `insert into cubby_blob_8 as b (table_id, id, state, due_at_ms)
    select g.table_id, convert_from(substr(g.i3_hash, 2), 'UTF8'), 'dead', $${dueParameter}::bigint
    from ${source} g where ${isFile('g')} ${orDead}`

// ── A commit in one round trip ─────────────────────────────────────────────────────────────────────────────
// Most commits have no condition that needs a version, and a clock above the old version. They take one round trip. If one of
// these statements fails, the way with two round trips finds out why.

const blobOf = (alias: string): string =>
  `case when ${isFile(alias)} then convert_from(substr(${alias}.i3_hash, 2), 'UTF8') end`

/**
 * $1 table, $2 $3 the record key, $4 when the blob is due. Locks the record if there is one, and makes its blob dead. With
 * `isFile` alone the planner would choose the partial index i3 in an empty store, and keep that plan.
 */
export const freeOldBlob: Statement = {
  name: 'file_free_old',
  text: `insert into cubby_blob_8 as b (table_id, id, state, due_at_ms)
    select r.table_id, ${blobOf('r')}, 'dead', $4::bigint from cubby_record_8 as r
    where ${theRecord} and coalesce(${isFile('r')}, false) for update of r ${orDead}`,
}

/**
 * The values are those of a put. It fails if the row has a version that is not below the new one, or was made after
 * `freeOldBlob` looked for it. In the second case its blob is not dead: only the transaction that replaces or removes a row
 * makes its blob dead, and no dead blob becomes live again.
 */
export const putFile = (kind: 'none' | 'absent'): Statement => ({
  name: `file_put_${kind}`,
  text: `insert into cubby_record_8 as r (${recordColumns}) values (${rowOf(newId)}) ${overwriteWith('excluded.updated_at')}
    where ${raising(`(${expired}${kind === 'absent' ? '' : ' or r.updated_at < excluded.updated_at'})
      and exists (select 1 from cubby_blob_8 b where b.table_id = $1::bigint and b.id = ${blobOf('r')} and b.state = 'dead')`)} = 1`,
})

/** Makes a blob dead that no record refers to yet. */
export const giveUp: Statement = {
  name: 'blob_give_up',
  text: `update cubby_blob_8 as b set state = 'dead', due_at_ms = $3::bigint where ${theBlob} and b.state = 'pending'`,
}

// ── Blobs by their ids alone ───────────────────────────────────────────────────────────────────────────────

/** $1 ids, $2 when they are due. */
export const postpone: Statement = {
  name: 'blobs_keep_alive',
  text: `update cubby_blob_8 as b set due_at_ms = greatest(b.due_at_ms, $2::bigint)
    where b.id = any ($1::text[]) and b.state = 'pending'`,
}

/** $1 id, $2 when it is due. */
export const abandonBlob: Statement = {
  name: 'blobs_abandon',
  text: `update cubby_blob_8 as b set state = 'dead', due_at_ms = $2::bigint where b.id = $1 and b.state = 'pending'`,
}

/** $1 ids. */
export const forgetBlobs: Statement = {
  name: 'blobs_forget',
  text: `delete from cubby_blob_8 as b where b.id = any ($1::text[]) and b.state = 'removing'`,
}

// ── The sweep ──────────────────────────────────────────────────────────────────────────────────────────────
// A blob that is being removed has a time too: another sweep takes it after that, if the first one was interrupted.

/** Reads the database's clock, and the time until which a backup stops the sweep. */
export const sweepFacts: Statement = {
  name: 'blob_sweep_facts',
  text: 'select floor(extract(epoch from now()) * 1000)::bigint, s.files_held_until from cubby_store s',
}

/** $1 now, $2 rows at most, $3 when another sweep may take them. Processes that sweep at once take different blobs. */
export const takeDueInOne: Statement = {
  name: 'blobs_take',
  text: `update cubby_blob_8 as b set state = 'removing', due_at_ms = $3::bigint from (
      select d.table_id, d.id from cubby_blob_8 d where d.due_at_ms <= $1::bigint
      order by d.due_at_ms limit $2::bigint for update skip locked
    ) as x where b.table_id = x.table_id and b.id = x.id returning b.id`,
}

export const findDue: Statement = {
  name: 'blobs_find_due',
  text: `select b.table_id, b.id from cubby_blob_8 b where b.due_at_ms <= $1::bigint
    order by b.due_at_ms limit $2::bigint`,
}

/** $1 table, $2 ids, $3 now, $4 when another sweep may take them. */
export const takeDueOfTable: Statement = {
  name: 'blob_take',
  text: `update cubby_blob_8 as b set state = 'removing', due_at_ms = $4::bigint
    where b.table_id = $1::bigint and b.id = any ($2::text[]) and b.due_at_ms <= $3::bigint returning b.id`,
}

// ── The store ──────────────────────────────────────────────────────────────────────────────────────────────

export const holdSweep: Statement = {
  name: 'blob_hold_sweep',
  text: 'update cubby_store set files_held_until = greatest(files_held_until, $1::bigint)',
}

export const storeId: Statement = { name: 'store_id', text: 'select s.store_id from cubby_store s' }

/** $1 when they are due. Blobs that the store keeps are left out: their ids begin with f. */
export const adoptBlobs: Statement = {
  name: 'blobs_adopt',
  text: `update cubby_blob_8 as b set due_at_ms = $1::bigint where b.id < 'f'`,
}

export const forgetMark: Statement = {
  name: 'file_mark_forget',
  text: 'update cubby_store as s set file_mark = null',
}

export const countAdopted: Statement = {
  name: 'blobs_count_adopted',
  text: 'select count(*) from cubby_blob_8 b where b.due_at_ms = $1::bigint',
}

export const readMark: Statement = { name: 'file_mark', text: 'select s.file_mark from cubby_store s' }

/** If two processes write at once, the second waits for the first and gets its mark. */
export const writeMark: Statement = {
  name: 'file_mark_write',
  text: 'update cubby_store as s set file_mark = coalesce(s.file_mark, $1) returning s.file_mark',
}
