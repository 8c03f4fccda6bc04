import { isStoreBlobId } from '../../core/files/blob-id.ts'
import { encodeSecrets } from '../../core/store-secrets.ts'
import type { Run } from '../../core/tasks/run.ts'
import type { Engine } from '../../store/engine.ts'
import type { Dump, DumpedChange, DumpedRecord, LoadedBlob } from '../../store/transfer.ts'

const rowsPerLoad = 500
/** Fewer, because they may have bytes: about 2 MB. */
const blobsPerLoad = 100

/** Groups single rows into chunks of a bounded size. */
async function* inChunks<Row>(rows: AsyncIterable<Row>, rowsMax = rowsPerLoad): AsyncIterable<Row[]> {
  let chunk: Row[] = []
  for await (const row of rows) {
    chunk.push(row)
    if (chunk.length < rowsMax) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

/** Yields blobs with the bytes that the store keeps. Missing ones were reported before: see copyFiles. */
async function* blobsOf(dump: Dump): AsyncIterable<LoadedBlob> {
  for await (const blob of dump.blobs()) {
    const bytes = isStoreBlobId(blob.id) ? await dump.blobBytes(blob) : undefined
    yield bytes === undefined ? blob : { ...blob, bytes: Buffer.from(bytes).toString('base64') }
  }
}

/** The rows that a copy has written. After an interruption, these are the rest of the records and runs. */
export interface CopiedRows {
  /** Records of tables, without those of files. */
  records: number
  tasks: number
  runs: number
}

/**
 * Copies a whole store into another and keeps every id, version and time, and the leases of running attempts. Records of a
 * table, and runs, are copied in creation order, so an interrupted copy continues after the highest id in the target. The
 * bytes of files must be there already. `onProgress` counts records, files and runs.
 */
export const copyStore = async (from: Dump, to: Engine, onProgress: (rows: number) => void): Promise<CopiedRows> => {
  await to.transfer.load({ secrets: await from.secrets() })
  await to.transfer.load({ organizations: await from.organizations() })
  for await (const apiKeys of inChunks(from.apiKeys())) await to.transfer.load({ apiKeys })
  await to.transfer.load({ userEpochs: await from.userEpochs() })
  for await (const revocations of inChunks(from.revocations())) await to.transfer.load({ revocations })
  for await (const issuers of inChunks(from.issuers())) await to.transfer.load({ issuers })
  for await (const tables of inChunks(from.tables())) await to.transfer.load({ tables })
  for await (const blobs of inChunks(blobsOf(from), blobsPerLoad)) await to.transfer.load({ blobs })
  let copied = 0
  const rows: CopiedRows = { records: 0, tasks: 0, runs: 0 }
  for await (const table of from.tables()) {
    for await (const records of from.records(table.id, await to.transfer.lastRecordId(table.id))) {
      await to.transfer.load({ records })
      copied += records.length
      if (table.kind === 'table') rows.records += records.length
      onProgress(copied)
    }
  }
  for await (const tasks of inChunks(from.tasks())) {
    await to.transfer.load({ tasks })
    rows.tasks += tasks.length
  }
  for await (const runs of from.runs(await to.transfer.lastRunSeq())) {
    await to.transfer.load({ runs })
    rows.runs += runs.length
    onProgress(copied + rows.runs)
  }
  for await (const idempotencyKeys of inChunks(from.idempotencyKeys())) await to.transfer.load({ idempotencyKeys })
  for await (const changes of from.changes()) await to.transfer.load({ changes })
  return rows
}

/** The records one by one, independent of the chunk size. */
async function* records(dump: Dump, tableId: number): AsyncIterable<DumpedRecord> {
  for await (const chunk of dump.records(tableId, 0)) yield* chunk
}

async function* changes(dump: Dump): AsyncIterable<DumpedChange> {
  for await (const chunk of dump.changes()) yield* chunk
}

async function* runs(dump: Dump): AsyncIterable<Run> {
  for await (const chunk of dump.runs(0)) yield* chunk
}

/** The first pair of rows in which two sequences differ; undefined if they are equal. */
const firstDifference = async <Row>(
  ours: AsyncIterable<Row>,
  theirs: AsyncIterable<Row>,
  shown: (row: Row) => string,
): Promise<[Row | undefined, Row | undefined] | undefined> => {
  const others = theirs[Symbol.asyncIterator]()
  for await (const our of ours) {
    const { value: their, done } = await others.next()
    if (done || shown(our) !== shown(their)) return [our, done ? undefined : their]
  }
  const { value: extra, done } = await others.next()
  return done ? undefined : [undefined, extra]
}

async function* each<Row>(rows: Row[]): AsyncIterable<Row> {
  yield* rows
}

// The epoch is internal state of the engine at the time of the read, not part of the row.
const shownRow = (row: object): string => JSON.stringify(Object.entries({ ...row, epoch: 0 }).sort())
const shownRecord = ({
  id,
  tableId,
  hashKey,
  rangeKey,
  data,
  ttlSeconds,
  updatedAtMs,
  entries,
}: DumpedRecord): string => JSON.stringify([id, tableId, hashKey, rangeKey, data, ttlSeconds, updatedAtMs, entries])

/** The members of objects within in one order too: a declaration, a schedule, an error. */
const shownDeep = (row: object): string =>
  JSON.stringify(row, (_, value) =>
    value === null || typeof value !== 'object' || Array.isArray(value)
      ? value
      : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))),
  )

/** One line for every part in which two stores differ; none if they are equal, byte for byte. */
export async function* compareStores(ours: Dump, theirs: Dump): AsyncIterable<string> {
  if (encodeSecrets(await ours.secrets()) !== encodeSecrets(await theirs.secrets())) yield 'the secrets differ'
  if (await firstDifference(each(await ours.organizations()), each(await theirs.organizations()), shownRow)) {
    yield 'the organizations differ'
  }
  const key = await firstDifference(ours.apiKeys(), theirs.apiKeys(), shownRow)
  if (key !== undefined) yield `the API keys differ, first at ${(key[0] ?? key[1])!.id}`
  if (shownDeep(await ours.userEpochs()) !== shownDeep(await theirs.userEpochs())) yield 'the user epochs differ'
  const revocation = await firstDifference(ours.revocations(), theirs.revocations(), shownDeep)
  if (revocation !== undefined)
    yield `the revoked users differ, first of organization ${(revocation[0] ?? revocation[1])!.orgId}`
  const issuer = await firstDifference(ours.issuers(), theirs.issuers(), shownDeep)
  if (issuer !== undefined) yield `the issuers differ, first at ${(issuer[0] ?? issuer[1])!.name}`
  const table = await firstDifference(ours.tables(), theirs.tables(), shownRow)
  if (table !== undefined) yield `the tables differ, first at ${nameOf((table[0] ?? table[1])!)}`
  const blob = await firstDifference(blobsOf(ours), blobsOf(theirs), shownRow)
  if (blob !== undefined) yield `the blobs of files differ, first at ${(blob[0] ?? blob[1])!.id}`
  const names = new Map<number, string>()
  for await (const { id, db, name } of ours.tables()) {
    names.set(id, nameOf({ db, name }))
    const record = await firstDifference(records(ours, id), records(theirs, id), shownRecord)
    if (record !== undefined)
      yield `the records of ${nameOf({ db, name })} differ, first at ${JSON.stringify((record[0] ?? record[1])!.hashKey)}`
  }
  const shownTask = (id: number): string => names.get(id) ?? `task ${id}`
  const task = await firstDifference(ours.tasks(), theirs.tasks(), shownDeep)
  if (task !== undefined) yield `the tasks differ, first at ${shownTask((task[0] ?? task[1])!.tableId)}`
  const run = await firstDifference(runs(ours), runs(theirs), shownDeep)
  if (run !== undefined) {
    const { taskId, id } = (run[0] ?? run[1])!
    yield `the runs differ, first at ${id} of ${shownTask(taskId)}`
  }
  const idempotencyKey = await firstDifference(ours.idempotencyKeys(), theirs.idempotencyKeys(), shownRow)
  if (idempotencyKey !== undefined) {
    const { scopeKind, scopeId } = (idempotencyKey[0] ?? idempotencyKey[1])!
    yield `the idempotency keys differ, first of ${scopeKind} ${scopeId}`
  }
  const change = await firstDifference(changes(ours), changes(theirs), shownRow)
  if (change !== undefined) {
    const { tableId, seq } = (change[0] ?? change[1])!
    yield `the changes differ, first at entry ${seq} of ${names.get(tableId) ?? `table ${tableId}`}`
  }
}

const nameOf = ({ db, name }: { db: string; name: string }): string => `${db}/${name}`
