import { expect } from 'bun:test'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import { CubbyError, type ErrorCode } from '../../src/core/errors.ts'
import { batchOperationsMax } from '../../src/core/limits.ts'
import { indexBounds, parseRange, primaryBounds, timeBounds } from '../../src/core/records/range.ts'
import { noRangeKey } from '../../src/core/records/record-key.ts'
import { parseRecordToPatch } from '../../src/core/records/record-patch.ts'
import { type ByteScan, resumeScan, type Scan, type TimeScan } from '../../src/core/records/scan.ts'
import type { StoredRecord } from '../../src/core/records/stored-record.ts'
import { runThrough } from '../../src/core/slices.ts'
import { encodeIndexValue, type IndexScalar } from '../../src/core/tables/index-value.ts'
import { type Indices, indexEntries, type Slot } from '../../src/core/tables/indices.ts'
import { readEnvelope } from '../../src/core/text/json-span.ts'
import type { ApiKey, Caller } from '../../src/store/api-keys.ts'
import type { Engine } from '../../src/store/engine.ts'
import type { Organization } from '../../src/store/organizations.ts'
import type {
  Condition,
  DeleteOperation,
  PatchOperation,
  PutOperation,
  RecordOperation,
  WriteResult,
} from '../../src/store/records.ts'
import type { Table } from '../../src/store/tables.ts'

/**
 * Now, for every case that does not say otherwise: a whole second, and long past, because an engine whose
 * database has a clock of its own never sweeps ahead of that one.
 */
export const startMs = 1_750_000_000_000
export const startSeconds = startMs / 1000

// ── Who writes ───────────────────────────────────────────────────────────────────────────────────────────

export interface Tenant {
  org: Organization
  /** An operator's command: no API key. */
  operator: Caller
  /** A caller with the organization's first secret key. */
  caller: Caller
  apiKey: ApiKey
  secret: string
}

export const makeTenant = async (engine: Engine, name = 'acme'): Promise<Tenant> => {
  const { text, kept } = makeApiKey({ kind: 'secret', name: `first of ${name}` })
  const org = await engine.organizations.create(name, [kept], startMs)
  if (org === undefined) throw new Error(`The organization ${name} is there already.`)
  const apiKey = await engine.apiKeys.find(text)
  if (apiKey === undefined) throw new Error('The first key of a new organization is not found.')
  return {
    org,
    operator: { orgId: org.id, apiKey: undefined },
    caller: { orgId: org.id, apiKey },
    apiKey,
    secret: text,
  }
}

/** All but what the engine alone reads. */
export const withoutEpoch = <T extends { epoch: number }>(value: T | undefined): Omit<T, 'epoch'> | undefined => {
  if (value === undefined) return undefined
  const { epoch: _, ...rest } = value
  return rest
}

export const expectRefusal = async (attempt: Promise<unknown>, code: ErrorCode): Promise<void> => {
  const outcome = await attempt.then(
    (value) => ({ resolved: value }),
    (error: unknown) => (error instanceof CubbyError ? { refused: error.code } : { threw: error }),
  )
  expect(outcome).toEqual({ refused: code })
}

// ── What is written ──────────────────────────────────────────────────────────────────────────────────────

export interface PutFields {
  rangeKey?: string
  /** An object, or JSON text that is to be kept as it stands. */
  data?: Record<string, unknown> | string
  ttlSeconds?: number
  condition?: Condition
}

export const putOf = (table: Table, hashKey: string, fields: PutFields = {}): PutOperation => {
  const data = typeof fields.data === 'string' ? fields.data : JSON.stringify(fields.data ?? {})
  return {
    op: 'put',
    hashKey,
    rangeKey: fields.rangeKey ?? noRangeKey,
    data,
    ttlSeconds: fields.ttlSeconds ?? null,
    entries: indexEntries(table.indices, JSON.parse(data) as Record<string, unknown>),
    condition: fields.condition,
  }
}

/** `change` has `merge`, `increment`, `append` and `ttl` as a request has them. */
export const patchOf = (
  table: Table,
  hashKey: string,
  change: Record<string, unknown>,
  {
    rangeKey = noRangeKey,
    condition,
    prefix = '',
  }: Pick<PutFields, 'rangeKey' | 'condition'> & { prefix?: string } = {},
): PatchOperation => {
  const text = JSON.stringify({ hashKey, rangeKey, ...change })
  const { value, parts } = runThrough(readEnvelope(text, 0, ''))
  const record = parseRecordToPatch(value as Record<string, unknown>, text, parts, startMs, prefix)
  return { op: 'patch', ...record, indices: table.indices, condition, prefix, wantsData: true }
}

export const deleteOf = (hashKey: string, rangeKey = noRangeKey, condition?: Condition): DeleteOperation => ({
  op: 'delete',
  hashKey,
  rangeKey,
  condition,
})

/** One table of one organization, with the calls that most cases make. */
export interface Fixture {
  tenant: Tenant
  table: Table
  write(operations: RecordOperation[], nowMs?: number): Promise<WriteResult>
  /** The version written. */
  put(hashKey: string, fields?: PutFields, nowMs?: number): Promise<number>
  /** True if there was a record. */
  remove(hashKey: string, rangeKey?: string, nowMs?: number): Promise<boolean>
  get(hashKey: string, rangeKey?: string, nowMs?: number): Promise<StoredRecord | undefined>
  /** Every record of the scan, through pages of `rowsMax`. */
  list(scan: Scan, nowMs?: number, rowsMax?: number): Promise<StoredRecord[]>
  /** The same, by name: `hash` or `hash/range`. */
  names(scan: Scan, nowMs?: number, rowsMax?: number): Promise<string[]>
}

export const makeFixture = async (
  engine: Engine,
  indices: Indices = {},
  at: { tenant?: Tenant; db?: string; name?: string } = {},
): Promise<Fixture> => {
  const tenant = at.tenant ?? (await makeTenant(engine))
  const { table } = await engine.tables.create(tenant.caller, at.db ?? 'app', at.name ?? 'orders', indices, startMs)
  return fixtureOf(engine, tenant, table)
}

export const fixtureOf = (engine: Engine, tenant: Tenant, table: Table): Fixture => {
  const fixture: Fixture = {
    tenant,
    table,
    write: (operations, nowMs = startMs) => engine.records.write(tenant.caller, table, operations, nowMs),
    async put(hashKey, fields, nowMs) {
      const result = await fixture.write([putOf(table, hashKey, fields)], nowMs)
      return versionsOf(result)[0]!
    },
    async remove(hashKey, rangeKey, nowMs) {
      const result = await fixture.write([deleteOf(hashKey, rangeKey)], nowMs)
      if (!result.applied) throw new Error('A delete without a condition was not applied.')
      return (result.results[0] as { deleted: boolean }).deleted
    },
    get: async (hashKey, rangeKey = noRangeKey, nowMs = startMs) =>
      engine.records.get(table, { hashKey, rangeKey }, nowMs),
    async list(scan, nowMs = startMs, rowsMax = 1_000) {
      return (await readPages(engine, table, scan, rowsMax, nowMs)).flat()
    },
    async names(scan, nowMs, rowsMax) {
      return (await fixture.list(scan, nowMs, rowsMax)).map(nameOf)
    },
  }
  return fixture
}

/** The same table as another engine on the store sees it, and the same key. */
export const fixtureThrough = async (engine: Engine, fixture: Fixture): Promise<Fixture> => {
  const { tenant, table } = fixture
  const found = await engine.tables.find(table.orgId, table.db, table.name)
  if (found === undefined) throw new Error('The table is not found through another engine.')
  return fixtureOf(engine, await tenantThrough(engine, tenant), found)
}

export const tenantThrough = async (engine: Engine, tenant: Tenant): Promise<Tenant> => {
  const apiKey = await engine.apiKeys.find(tenant.secret)
  if (apiKey === undefined) throw new Error('The key is not found through another engine.')
  return { ...tenant, apiKey, caller: { orgId: tenant.org.id, apiKey } }
}

export const nameOf = (record: StoredRecord): string =>
  record.rangeKey === noRangeKey ? record.hashKey : `${record.hashKey}/${record.rangeKey}`

/** The versions that an applied write of puts gave, in the order of its operations. */
export const versionsOf = (result: WriteResult): number[] => {
  if (!result.applied) throw new Error(`Operation ${result.failedOperation} was not applied.`)
  return result.results.map((one) => (one as { updatedAtMs: number }).updatedAtMs)
}

/** Many puts, in order, as fast as batches go. */
export const fill = async (fixture: Fixture, puts: PutOperation[], nowMs = startMs): Promise<void> => {
  for (let at = 0; at < puts.length; at += batchOperationsMax) {
    const result = await fixture.write(puts.slice(at, at + batchOperationsMax), nowMs)
    expect(result.applied).toBe(true)
  }
}

/** The same without an order: the batches go at once. */
export const fillAtOnce = async (fixture: Fixture, puts: PutOperation[], nowMs = startMs): Promise<void> => {
  const batches: Promise<WriteResult>[] = []
  for (let at = 0; at < puts.length; at += batchOperationsMax) {
    batches.push(fixture.write(puts.slice(at, at + batchOperationsMax), nowMs))
    if (batches.length === 32) for (const result of await Promise.all(batches.splice(0))) versionsOf(result)
  }
  for (const result of await Promise.all(batches)) versionsOf(result)
}

export const numbered = (count: number, prefix = 'k'): string[] =>
  Array.from({ length: count }, (_, i) => prefix + String(i).padStart(6, '0'))

// ── What is read ─────────────────────────────────────────────────────────────────────────────────────────

export const primaryScan = (hash: string, range?: unknown, descending = false): ByteScan => ({
  index: 'primary',
  hash,
  ...primaryBounds(parseRange(range, 'primary')),
  lowId: 0,
  highId: 0,
  descending,
})

export const indexScan = (slot: Slot, hash: IndexScalar, range?: unknown, descending = false): ByteScan => ({
  index: slot,
  hash: encodeIndexValue(hash),
  ...indexBounds(parseRange(range, 'index')),
  lowId: 0,
  highId: 0,
  descending,
})

export const timeScan = (range?: unknown, descending = false): TimeScan => ({
  index: 't',
  ...timeBounds(parseRange(range, 't')),
  lowId: 0,
  highId: 0,
  descending,
})

const pagesMax = 20_000

/** Pages until `next` is undefined. No page is larger than asked. */
export const readPages = async (
  engine: Engine,
  table: Table,
  scan: Scan,
  rowsMax: number,
  nowMs = startMs,
): Promise<StoredRecord[][]> => {
  const pages: StoredRecord[][] = []
  let rest = scan
  for (let count = 0; count < pagesMax; count++) {
    const page = await engine.records.scan(table, rest, rowsMax, nowMs)
    expect(page.records.length).toBeLessThanOrEqual(rowsMax)
    pages.push(page.records)
    if (page.next === undefined) return pages
    rest = resumeScan(scan, page.next)
  }
  throw new Error(`The scan has no end after ${pagesMax} pages.`)
}

/** The indices of a table for `scansOf`. */
export const scannedIndices = { i1: { hashField: 's', rangeField: 'r' }, i2: { hashField: 's' } }

/** Each order of a table whose records all have this hash key and the index hash `x`, either way. */
export const scansOf = (hashKey: string): Scan[] =>
  [false, true].flatMap((descending) => [
    primaryScan(hashKey, undefined, descending),
    timeScan(undefined, descending),
    indexScan('i1', 'x', undefined, descending),
    indexScan('i2', 'x', undefined, descending),
  ])
