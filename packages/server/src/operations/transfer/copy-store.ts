import type { CursorKey } from '../../core/cursor-seal.ts'
import type { Engine } from '../../store/engine.ts'
import type { Dump, DumpedRecord } from '../../store/transfer.ts'

const rowsPerLoad = 500

/** Groups single rows into chunks of a bounded size. */
async function* inChunks<Row>(rows: AsyncIterable<Row>): AsyncIterable<Row[]> {
  let chunk: Row[] = []
  for await (const row of rows) {
    chunk.push(row)
    if (chunk.length < rowsPerLoad) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

/**
 * Copies a whole store into another and keeps every id, version and time. The records of a table are copied in creation
 * order, so an interrupted copy continues after the highest id in the target. The bytes of files must be there already. Returns how many records of tables
 * were copied; `onProgress` also counts files.
 */
export const copyStore = async (from: Dump, to: Engine, onProgress: (records: number) => void): Promise<number> => {
  await to.transfer.load({ cursorKey: await from.cursorKey() })
  await to.transfer.load({ organizations: await from.organizations() })
  for await (const apiKeys of inChunks(from.apiKeys())) await to.transfer.load({ apiKeys })
  for await (const tables of inChunks(from.tables())) await to.transfer.load({ tables })
  for await (const blobs of inChunks(from.blobs())) await to.transfer.load({ blobs })
  let copied = 0
  let ofTables = 0
  for await (const table of from.tables()) {
    for await (const records of from.records(table.id, await to.transfer.lastRecordId(table.id))) {
      await to.transfer.load({ records })
      copied += records.length
      if (table.kind === 'table') ofTables += records.length
      onProgress(copied)
    }
  }
  return ofTables
}

/** The records one by one, independent of the chunk size. */
async function* records(dump: Dump, tableId: number): AsyncIterable<DumpedRecord> {
  for await (const chunk of dump.records(tableId, 0)) yield* chunk
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

// A stamp is internal state of the engine at the time of the read, not part of the row.
const shownRow = (row: object): string => JSON.stringify(Object.entries({ ...row, stamp: 0 }).sort())
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

const shownKey = ({ secret, acceptsPlain }: CursorKey): string =>
  `${Buffer.from(secret).toString('hex')} ${acceptsPlain}`

/** One line for every part in which two stores differ; none if they are equal, byte for byte. */
export async function* compareStores(ours: Dump, theirs: Dump): AsyncIterable<string> {
  if (shownKey(await ours.cursorKey()) !== shownKey(await theirs.cursorKey())) yield 'the cursor keys differ'
  if (await firstDifference(each(await ours.organizations()), each(await theirs.organizations()), shownRow)) {
    yield 'the organizations differ'
  }
  const key = await firstDifference(ours.apiKeys(), theirs.apiKeys(), shownRow)
  if (key !== undefined) yield `the API keys differ, first at ${(key[0] ?? key[1])!.id}`
  const table = await firstDifference(ours.tables(), theirs.tables(), shownRow)
  if (table !== undefined) yield `the tables differ, first at ${nameOf((table[0] ?? table[1])!)}`
  const blob = await firstDifference(ours.blobs(), theirs.blobs(), shownRow)
  if (blob !== undefined) yield `the blobs of files differ, first at ${(blob[0] ?? blob[1])!.id}`
  for await (const { id, db, name } of ours.tables()) {
    const record = await firstDifference(records(ours, id), records(theirs, id), shownRecord)
    if (record !== undefined)
      yield `the records of ${nameOf({ db, name })} differ, first at ${JSON.stringify((record[0] ?? record[1])!.hashKey)}`
  }
}

const nameOf = ({ db, name }: { db: string; name: string }): string => `${db}/${name}`
