import { expect } from 'bun:test'
import type { ErrorCode } from '../../src/core/errors.ts'
import { batchOperationsMax } from '../../src/core/limits.ts'
import { type Slot, slots } from '../../src/core/tables/indices.ts'
import type { Api, ApiResponse, Json } from '../harness.ts'
import { quietMs, type SteppedClock } from './clock.ts'
import type { NaiveRange } from './naive-order.ts'
import { keyOf, NaiveDatabase, type NaiveQuery, type NaiveRecord, NaiveTable } from './naive-store.ts'
import type { Random } from './random.ts'
import {
  hashKeys,
  makeData,
  makeHash,
  makeIndexRange,
  makeIndices,
  makeScalar,
  makeTextRange,
  makeTimeRange,
  rangeKeys,
  spoil,
  tableNames,
  writeJson,
} from './random-values.ts'

interface ModelClientOptions {
  /** The database that is this client's alone. */
  db: string
  random: Random
  clock: SteppedClock
  /** Reads and writes. */
  secret: Api
  /** Reads. */
  open: Api
}

interface DraftPut {
  hashKey: string
  rangeKey: string
  text: string
  data: Record<string, unknown>
  ttl: number | undefined
}

type NaiveCondition = { version: number } | 'exists' | 'absent' | undefined

/** A ttl so far back is refused; nearer than a day it is not. The clock moves on while a request is made. */
const longPastSeconds = 100_000

const statusOf: Partial<Record<ErrorCode, number>> = {
  table_not_found: 404,
  record_not_found: 404,
  precondition_failed: 412,
  table_exists: 409,
}

/**
 * One caller with a database of its own: makes random requests one after another, and holds each answer against
 * the naive store. Several clients run at once, so that their writes share commits.
 */
export class ModelClient {
  readonly naive = new NaiveDatabase()
  readonly #trail: string[] = []
  readonly #db: string
  readonly #random: Random
  readonly #clock: SteppedClock
  readonly #secret: Api
  readonly #open: Api
  /** A few of the many, so that requests meet at the same records. */
  readonly #hashKeys: string[]
  readonly #rangeKeys: string[]

  constructor({ db, random, clock, secret, open }: ModelClientOptions) {
    this.#db = db
    this.#random = random
    this.#clock = clock
    this.#secret = secret
    this.#open = open
    this.#hashKeys = random.shuffled(hashKeys).slice(0, 4)
    this.#rangeKeys = random.shuffled(rangeKeys).slice(0, 7)
  }

  async start(): Promise<void> {
    for (const name of tableNames) await this.#createTable(name)
  }

  async run(steps: number): Promise<void> {
    for (let i = 0; i < steps; i++) {
      try {
        await this.#step()
      } catch (error) {
        const trail = this.#trail.slice(-12).join('\n  ')
        ;(error as Error).message += `\n\nThe last requests of ${this.#db}:\n  ${trail}`
        throw error
      }
    }
  }

  /** Reads every table whole and compares it. */
  async compareAll(): Promise<void> {
    await this.#listTables()
    await this.#listDeletedTables()
    for (const name of this.naive.active.keys()) {
      await this.#checkQuery(name, { index: 't', ascending: true })
      for (const hash of this.#hashKeys) await this.#checkQuery(name, { hash })
    }
  }

  #step(): Promise<void> {
    const name = this.#random.pick(tableNames)
    // A table that is gone does not stay so for long: most requests should find one.
    if (!this.naive.active.has(name) && this.#random.chance(0.3)) {
      return this.#random.chance(0.6) ? this.#restoreTable(name) : this.#createTable(name)
    }
    const step = this.#random.weighted<() => Promise<void>>([
      [30, () => this.#put(name)],
      [10, () => this.#get(name)],
      [6, () => this.#find(name)],
      [8, () => this.#delete(name)],
      [14, () => this.#batch(name)],
      [26, () => this.#query(name)],
      [3, () => this.#queryWhileWriting(name)],
      [2, () => this.#createTable(name)],
      [1, () => this.#deleteTable(name)],
      [2.5, () => this.#restoreTable(name)],
      [1, () => this.#getTable(name)],
      [1, () => this.#listTables()],
      [1, () => this.#listDeletedTables()],
    ])
    return step()
  }

  // ── Asking ─────────────────────────────────────────────────────────────────────────────────────────────

  async #ask(
    api: Api,
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<ApiResponse> {
    const answer = await api.request(method, `/v1/${this.#db}${path}`, body, headers)
    const shown = `${JSON.stringify(headers)} ${body?.slice(0, 1_500) ?? ''} → ${answer.status} ${answer.text.slice(0, 500)}`
    this.#trail.push(`${new Date(this.#clock.now()).toISOString()} ${method} ${path} ${shown}`)
    if (this.#trail.length > 50) this.#trail.splice(0, 25)
    return answer
  }

  /** Reads go with either key. */
  get #reader(): Api {
    return this.#random.chance(0.5) ? this.#open : this.#secret
  }

  #expectRefusal(answer: ApiResponse, code: ErrorCode): void {
    expect({ status: answer.status, code: answer.body?.error?.code }).toEqual({ status: statusOf[code] ?? 400, code })
  }

  #now(): number {
    return this.#clock.now()
  }

  // ── Records ────────────────────────────────────────────────────────────────────────────────────────────

  #makeKey(): { hashKey: string; rangeKey: string } {
    return { hashKey: this.#random.pick(this.#hashKeys), rangeKey: this.#random.pick(this.#rangeKeys) }
  }

  #recordPath(name: string, key: { hashKey: string; rangeKey: string }): string {
    const range = key.rangeKey === '#' && this.#random.chance(0.8) ? '' : `/${encodeURIComponent(key.rangeKey)}`
    return `/${name}/${encodeURIComponent(key.hashKey)}${range}`
  }

  #makePut(key = this.#makeKey()): DraftPut {
    const nowSeconds = Math.floor(this.#now() / 1000)
    const ttl = this.#random.weighted<() => number | undefined>([
      [7, () => undefined],
      // Many at one instant, and those far apart: the clock finds places to stop between them.
      [2.5, () => 3_600 * (Math.ceil((nowSeconds + 1.5 * (quietMs / 1000)) / 3_600) + this.#random.int(0, 2))],
      [0.4, () => this.#random.pick([nowSeconds - 5_000, nowSeconds - 80_000])],
      [0.1, () => this.#random.pick([0, 60, nowSeconds - longPastSeconds])],
    ])()
    const data = makeData(this.#random)
    return { ...key, data, text: writeJson(this.#random, data), ttl }
  }

  /** Refused, whatever else holds. */
  #isLongPast({ ttl }: DraftPut): boolean {
    return ttl !== undefined && ttl <= Math.floor(this.#now() / 1000) - longPastSeconds
  }

  /** The members of a put in any order; `#` is now said and now left out. */
  #putMembers(put: DraftPut): string[] {
    const members = [`"hashKey":${JSON.stringify(put.hashKey)}`, `"data":${put.text}`]
    if (put.rangeKey !== '#' || this.#random.chance(0.2)) members.push(`"rangeKey":${JSON.stringify(put.rangeKey)}`)
    if (put.ttl !== undefined) members.push(`"ttl":${put.ttl}`)
    return this.#random.shuffled(members)
  }

  #makeCondition(current: NaiveRecord | undefined): NaiveCondition {
    return this.#random.weighted<NaiveCondition>([
      [6, undefined],
      [2, { version: current?.updatedAt ?? 1 }],
      [0.7, { version: (current?.updatedAt ?? this.#now()) + this.#random.pick([-1, 1]) }],
      [0.7, 'exists'],
      [0.7, 'absent'],
    ])
  }

  #holds(condition: NaiveCondition, current: NaiveRecord | undefined): boolean {
    if (condition === undefined) return true
    if (condition === 'exists') return current !== undefined
    if (condition === 'absent') return current === undefined
    return current?.updatedAt === condition.version
  }

  #conditionHeaders(condition: NaiveCondition): Record<string, string> {
    if (condition === undefined) return {}
    if (condition === 'exists') return { 'if-match': '*' }
    if (condition === 'absent') return { 'if-none-match': '*' }
    return { 'if-match': `"${condition.version}"` }
  }

  /** Returns a record as it is in an answer. */
  #shown(record: Omit<NaiveRecord, 'made'>): Json {
    const { hashKey, rangeKey, text, ttl, updatedAt } = record
    return {
      hashKey,
      ...(rangeKey === '#' ? {} : { rangeKey }),
      data: JSON.parse(text),
      ...(ttl === undefined ? {} : { ttl }),
      updatedAt,
    }
  }

  /** The declared field that a wrong value was put into; undefined if the table declares none. */
  #spoil(put: DraftPut, table: NaiveTable): string | undefined {
    const declared = Object.values(table.indices).flatMap(({ hashField, rangeField }) => [
      hashField,
      rangeField ?? hashField,
    ])
    if (declared.length === 0) return undefined
    const field = this.#random.pick(declared)
    put.data = spoil(this.#random, put.data, field)
    put.text = writeJson(this.#random, put.data)
    return field
  }

  /** `updatedAt` is the clock's, or the next version where the clock is behind. */
  #expectVersion(version: number, previous: NaiveRecord | undefined, sentMs: number): void {
    const next = previous === undefined ? 0 : previous.updatedAt + 1
    expect(version).toBeGreaterThanOrEqual(Math.max(sentMs, next))
    expect(version).toBeLessThanOrEqual(Math.max(this.#now(), next))
  }

  async #put(name: string): Promise<void> {
    const table = this.naive.active.get(name)
    const put = this.#makePut()
    const key = keyOf(put)
    const spoilt = table !== undefined && this.#random.chance(0.05) ? this.#spoil(put, table) : undefined
    const previous = table?.live(key, this.#now())
    const condition = this.#makeCondition(previous)
    const minimal = this.#random.chance(0.2)
    const headers = { ...this.#conditionHeaders(condition), ...(minimal ? { prefer: 'return=minimal' } : {}) }
    const sentMs = this.#now()
    const answer = await this.#ask(this.#secret, 'PUT', `/${name}`, `{${this.#putMembers(put).join(',')}}`, headers)
    if (this.#isLongPast(put)) return this.#expectRefusal(answer, 'invalid_ttl')
    if (table === undefined) return this.#expectRefusal(answer, 'table_not_found')
    if (spoilt !== undefined) {
      this.#expectRefusal(answer, 'invalid_index_value')
      expect(answer.body.error.field).toBe(`data.${spoilt}`)
      return
    }
    if (!this.#holds(condition, previous)) return this.#expectRefusal(answer, 'precondition_failed')
    expect(answer.status).toBe(200)
    const record = { ...put, updatedAt: answer.body.updatedAt }
    const { data, ...rest } = this.#shown(record)
    expect(answer.body).toEqual(minimal ? rest : { ...rest, data })
    if (!minimal) expect(answer.text).toContain(put.text)
    expect(answer.headers.get('etag')).toBe(`"${record.updatedAt}"`)
    this.#expectVersion(record.updatedAt, previous, sentMs)
    table.put(record, this.#now())
  }

  async #get(name: string): Promise<void> {
    const key = this.#makeKey()
    const table = this.naive.active.get(name)
    const record = table?.live(keyOf(key), this.#now())
    const tag = record !== undefined && this.#random.chance(0.2) ? record.updatedAt - this.#random.int(0, 1) : undefined
    const headers: Record<string, string> = tag === undefined ? {} : { 'if-none-match': `"${tag}"` }
    const answer = await this.#ask(this.#reader, 'GET', this.#recordPath(name, key), undefined, headers)
    if (table === undefined) this.#expectRefusal(answer, 'table_not_found')
    else if (record === undefined) this.#expectRefusal(answer, 'record_not_found')
    else if (tag === record.updatedAt) {
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 304, text: '' })
    } else {
      expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: this.#shown(record) })
      expect(answer.text).toContain(record.text)
      expect(answer.headers.get('etag')).toBe(`"${record.updatedAt}"`)
    }
  }

  async #find(name: string): Promise<void> {
    const random = this.#random
    const table = this.naive.active.get(name)
    const keys = new Map<string, { hashKey: string; rangeKey: string }>()
    for (let n = random.int(1, 20); n > 0; n--) {
      const key = this.#makeKey()
      keys.set(keyOf(key), key)
    }
    const asked = [...keys.values()].map(({ hashKey, rangeKey }) => {
      const members = [`"hashKey":${JSON.stringify(hashKey)}`]
      if (rangeKey !== '#' || random.chance(0.2)) members.push(`"rangeKey":${JSON.stringify(rangeKey)}`)
      return `{${random.shuffled(members).join(random.pick([',', ' , ']))}}`
    })
    const doubled = random.chance(0.05)
    if (doubled) asked.splice(random.int(0, asked.length), 0, random.pick(asked))
    const answer = await this.#ask(this.#reader, 'POST', `/${name}/find`, `{"keys":[${asked.join(',')}]}`)
    if (doubled) return this.#expectRefusal(answer, 'batch_duplicate_keys')
    if (table === undefined) return this.#expectRefusal(answer, 'table_not_found')
    const records = [...keys.keys()].map((key) => table.live(key, this.#now()))
    const items = records.flatMap((record) => (record === undefined ? [] : [this.#shown(record)]))
    const missing = [...keys.values()]
      .filter((_, i) => records[i] === undefined)
      .map(({ hashKey, rangeKey }) => (rangeKey === '#' ? { hashKey } : { hashKey, rangeKey }))
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: { items, missing, unread: [] } })
    for (const record of records) if (record !== undefined) expect(answer.text).toContain(record.text)
  }

  async #delete(name: string): Promise<void> {
    const table = this.naive.active.get(name)
    const key = this.#makeKey()
    const current = table?.live(keyOf(key), this.#now())
    let condition = this.#makeCondition(current)
    // If-None-Match is not allowed on DELETE.
    if (condition === 'absent') condition = undefined
    const headers = this.#conditionHeaders(condition)
    const answer = await this.#ask(this.#secret, 'DELETE', this.#recordPath(name, key), undefined, headers)
    if (table === undefined) return this.#expectRefusal(answer, 'table_not_found')
    if (!this.#holds(condition, current)) return this.#expectRefusal(answer, 'precondition_failed')
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: { deleted: current !== undefined },
    })
    if (current !== undefined) table.remove(keyOf(key))
  }

  // ── Batches ────────────────────────────────────────────────────────────────────────────────────────────

  async #batch(name: string): Promise<void> {
    const random = this.#random
    const table = this.naive.active.get(name)
    const count = random.chance(0.05) ? batchOperationsMax : random.int(1, 7)
    const keys = new Map<string, { hashKey: string; rangeKey: string }>()
    while (keys.size < count) {
      const key = this.#makeKey()
      keys.set(keyOf(key), key)
    }
    const operations: string[] = []
    const puts: DraftPut[] = []
    const removed: string[] = []
    const failing: number[] = []
    const careless = random.chance(0.7)
    for (const [name, key] of keys) {
      const current = table?.live(name, this.#now())
      let condition = careless ? undefined : this.#makeCondition(current)
      // ifUpdatedAt says which version, or none; it has no word for "any".
      if (condition === 'exists') condition = undefined
      if (!this.#holds(condition, current)) failing.push(operations.length)
      const members: string[] = []
      if (condition !== undefined) {
        members.push(`"ifUpdatedAt":${typeof condition === 'object' ? condition.version : 'null'}`)
      }
      if (random.chance(0.7)) {
        const put = this.#makePut(key)
        puts.push(put)
        members.push('"op":"put"', ...this.#putMembers(put))
      } else {
        removed.push(name)
        members.push('"op":"delete"', `"hashKey":${JSON.stringify(key.hashKey)}`)
        if (key.rangeKey !== '#' || random.chance(0.2)) members.push(`"rangeKey":${JSON.stringify(key.rangeKey)}`)
      }
      operations.push(`{${random.shuffled(members).join(',')}}`)
    }
    const doubled = count < batchOperationsMax && random.chance(0.05)
    if (doubled) operations.splice(random.int(0, count), 0, random.pick(operations))

    const sentMs = this.#now()
    const body = `{"operations":[${operations.join(',')}]}`
    const answer = await this.#ask(this.#secret, 'POST', `/${name}/batch`, body)
    if (puts.some((put) => this.#isLongPast(put))) return this.#expectRefusal(answer, 'invalid_ttl')
    if (doubled) return this.#expectRefusal(answer, 'batch_duplicate_keys')
    if (table === undefined) return this.#expectRefusal(answer, 'table_not_found')
    if (failing.length > 0) {
      this.#expectRefusal(answer, 'precondition_failed')
      expect(failing.map((at) => `operations[${at}].ifUpdatedAt`)).toContain(answer.body.error.field)
      return
    }
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: { count } })
    for (const key of removed) if (table.live(key, this.#now()) !== undefined) table.remove(key)
    await this.#learnVersions(name, table, puts, sentMs)
  }

  /** The answer to a batch tells no versions: they are read, all at one go as far as the records are live. */
  async #learnVersions(name: string, table: NaiveTable, puts: DraftPut[], sentMs: number): Promise<void> {
    for (const put of puts) {
      const key = keyOf(put)
      const previous = table.live(key, this.#now())
      table.put({ ...put, updatedAt: 0 }, this.#now())
      const record = table.live(key, this.#now())
      if (record === undefined) continue
      const answer = await this.#ask(this.#reader, 'GET', this.#recordPath(name, put))
      expect(answer.status).toBe(200)
      record.updatedAt = answer.body.updatedAt
      expect(answer.body).toEqual(this.#shown(record))
      this.#expectVersion(record.updatedAt, previous, sentMs)
    }
  }

  // ── Queries ────────────────────────────────────────────────────────────────────────────────────────────

  #makeQuery(table: NaiveTable | undefined): NaiveQuery {
    const random = this.#random
    const query: NaiveQuery = random.chance(0.5) ? { ascending: random.chance(0.5) } : {}
    const declared = Object.keys(table?.indices ?? {}) as Slot[]
    const form = random.pick(
      declared.length === 0 ? (['primary', 't'] as const) : (['primary', 't', 'declared', 'declared'] as const),
    )
    const ranged = random.chance(0.6)
    if (form === 'primary') {
      query.hash = random.pick(this.#hashKeys)
      if (ranged) query.range = makeTextRange(random)
    } else if (form === 't') {
      query.index = 't'
      const versions = [...(table?.records.values() ?? [])].map((record) => record.updatedAt)
      if (ranged) query.range = makeTimeRange(random, versions)
    } else {
      query.index = random.pick(declared)
      query.hash = makeHash(random)
      if (ranged && table!.indices[query.index]!.rangeField !== undefined) query.range = makeIndexRange(random)
    }
    return query
  }

  async #query(name: string): Promise<void> {
    const table = this.naive.active.get(name)
    if (table === undefined) {
      const answer = await this.#ask(this.#reader, 'POST', `/${name}/query`, '{"index":"t"}')
      return this.#expectRefusal(answer, 'table_not_found')
    }
    if (this.#random.chance(0.06)) return this.#wrongQuery(name, table)
    await this.#checkQuery(name, this.#makeQuery(table))
  }

  /** All pages of the query, one after another. `between` is called between two of them. */
  async #readPages(name: string, query: NaiveQuery, between?: () => Promise<void>): Promise<Json[]> {
    const limit = this.#random.chance(0.3) ? undefined : this.#random.int(1, 9)
    const items: Json[] = []
    let cursor: string | null | undefined = this.#random.chance(0.3) ? null : undefined
    for (let page = 0; page < 1_000; page++) {
      const body = JSON.stringify({ ...query, limit, cursor })
      const answer = await this.#ask(this.#reader, 'POST', `/${name}/query`, body)
      expect(answer.status).toBe(200)
      const { hint, ...members } = answer.body
      expect(Object.keys(members).toSorted()).toEqual(['count', 'cursor', 'items'])
      // Only an empty first page of a query with a range has one.
      if (hint !== undefined) expect([page, members.items, 'range' in query]).toEqual([0, [], true])
      expect(answer.body.count).toBe(answer.body.items.length)
      expect(answer.body.count).toBeLessThanOrEqual(limit ?? 100)
      items.push(...answer.body.items)
      cursor = answer.body.cursor as string | null
      if (cursor === null) return items
      if (this.#random.chance(0.1)) await this.#strayCursor(name, query, cursor)
      await between?.()
    }
    throw new Error('The pages have no end.')
  }

  async #checkQuery(name: string, query: NaiveQuery): Promise<void> {
    const table = this.naive.active.get(name)!
    const expected = table.query(query, this.#now()).map((record) => this.#shown(record))
    expect(await this.#readPages(name, query)).toEqual(expected)
    if (this.#random.chance(0.4)) await this.#checkSelections(name, query, expected)
  }

  /** The same query once more, with another `select` for every page. */
  async #checkSelections(name: string, query: NaiveQuery, expected: Json[]): Promise<void> {
    const rest = [...expected]
    let cursor: string | null = null
    do {
      const select = this.#random.pick(['data', 'keys', 'count'])
      const limit = this.#random.chance(0.3) ? undefined : this.#random.int(1, 5)
      const body = JSON.stringify({ ...query, select, limit, cursor })
      const answer = await this.#ask(this.#reader, 'POST', `/${name}/query`, body)
      const { items, count, cursor: next } = answer.body
      expect({ status: answer.status, fits: count <= (limit ?? 10_000) }).toEqual({ status: 200, fits: true })
      const page = rest.splice(0, count)
      expect(page).toHaveLength(count)
      const shown = select === 'data' ? page : select === 'keys' ? page.map(({ data, ...head }) => head) : []
      expect(items).toEqual(shown)
      cursor = next
    } while (cursor !== null)
    expect(rest).toEqual([])
  }

  /** Writes between the pages: each record whose position does not change meanwhile is met exactly once. */
  async #queryWhileWriting(name: string): Promise<void> {
    const table = this.naive.active.get(name)
    if (table === undefined) return
    const query = this.#makeQuery(table)
    const before = new Map<string, string | undefined>()
    for (const key of table.records.keys()) before.set(key, table.position(key, query, this.#now()))
    const expected = table.query(query, this.#now()).map(keyOf)
    const moved = new Set<string>()
    const items = await this.#readPages(name, query, async () => {
      await this.#random.weighted<() => Promise<void>>([
        [4, () => this.#put(name)],
        [2, () => this.#delete(name)],
        [2, () => this.#batch(name)],
      ])()
      for (const key of new Set([...before.keys(), ...table.records.keys()])) {
        if (table.position(key, query, this.#now()) !== before.get(key)) moved.add(key)
      }
    })
    const met = items.map((item) => keyOf({ hashKey: item.hashKey, rangeKey: item.rangeKey ?? '#' }))
    expect(met.filter((key) => !moved.has(key))).toEqual(expected.filter((key) => !moved.has(key)))
  }

  /** A cursor with a query that it does not belong to. */
  async #strayCursor(name: string, query: NaiveQuery, cursor: string): Promise<void> {
    const ascending = query.ascending ?? query.index !== 't'
    const stray = this.#random.pick([
      { ...query, ascending: !ascending, cursor },
      { ...query, cursor: cursor.slice(0, -5) },
      { ...query, cursor: `${cursor}!` },
      { hash: 'another', cursor },
    ])
    const answer = await this.#ask(this.#reader, 'POST', `/${name}/query`, JSON.stringify(stray))
    this.#expectRefusal(answer, 'invalid_cursor')
  }

  async #wrongQuery(name: string, table: NaiveTable): Promise<void> {
    const random = this.#random
    const ask = async (query: object, code: ErrorCode): Promise<void> => {
      this.#expectRefusal(await this.#ask(this.#reader, 'POST', `/${name}/query`, JSON.stringify(query)), code)
    }
    const undeclared = slots.find((slot) => table.indices[slot] === undefined)
    if (undeclared !== undefined) await ask({ index: undeclared, hash: makeScalar(random) }, 'index_not_declared')
    const rangeless = slots.find((slot) => table.indices[slot] && table.indices[slot].rangeField === undefined)
    if (rangeless !== undefined) await ask({ index: rangeless, hash: 1, range: { eq: 1 } }, 'invalid_range')
    const wrongRanges: (object | NaiveRange)[] = [
      { between: ['b', 'a'] },
      { between: [1] },
      { eq: null },
      {},
      { gte: 'b', lt: 'a' },
      { gte: 'a', gt: 'b' },
      { between: ['a', 'b'], lt: 'b' },
      { near: 'a' },
      { beginsWith: 1 },
    ]
    await ask({ hash: 'a', range: random.pick(wrongRanges) }, 'invalid_range')
    await ask(
      { index: 't', range: random.pick([{ beginsWith: '2' }, { gte: 'soon' }, { between: [2, 1] }]) },
      'invalid_range',
    )
    await ask(random.pick([{}, { hash: 1 }, { hash: '' }]), 'invalid_key')
  }

  // ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────

  #shownTable(name: string, table: NaiveTable): Json {
    const { indices, createdAt, deletedAt } = table
    const status = deletedAt === undefined ? { status: 'active' } : { status: 'deleted', deletedAt }
    const until = deletedAt === undefined ? {} : { recoverableUntil: deletedAt + 7 * 86_400_000 }
    return { db: this.#db, table: name, indices, ...status, createdAt, ...until }
  }

  async #createTable(name: string): Promise<void> {
    const present = this.naive.active.get(name)
    const indices = present !== undefined && this.#random.chance(0.5) ? present.indices : makeIndices(this.#random)
    const sentMs = this.#now()
    const answer = await this.#ask(this.#secret, 'POST', `/${name}`, JSON.stringify({ indices }))
    if (present !== undefined && JSON.stringify(indices) !== JSON.stringify(present.indices)) {
      return this.#expectRefusal(answer, 'table_exists')
    }
    expect(answer.status).toBe(present === undefined ? 201 : 200)
    const table = present ?? new NaiveTable(indices, answer.body.createdAt)
    if (present === undefined) {
      expect(table.createdAt).toBeGreaterThanOrEqual(sentMs)
      expect(table.createdAt).toBeLessThanOrEqual(this.#now())
    }
    this.naive.active.set(name, table)
    expect(answer.body).toEqual(this.#shownTable(name, table))
  }

  async #deleteTable(name: string): Promise<void> {
    const table = this.naive.active.get(name)
    const answer = await this.#ask(this.#secret, 'DELETE', `/${name}`)
    if (table === undefined) return this.#expectRefusal(answer, 'table_not_found')
    expect(answer.status).toBe(200)
    const { deletedAt } = answer.body
    expect(
      this.naive.deleted.filter((entry) => entry.name === name).map((entry) => entry.table.deletedAt),
    ).not.toContain(deletedAt)
    table.deletedAt = deletedAt
    this.naive.active.delete(name)
    this.naive.deleted.push({ name, table })
    expect(answer.body).toEqual(this.#shownTable(name, table))
  }

  async #restoreTable(name: string): Promise<void> {
    const random = this.#random
    const active = this.naive.active.get(name)
    const recoverable = this.naive.recoverable(this.#now(), name)
    const named = random.chance(0.5)
      ? undefined
      : random.chance(0.7) && recoverable.length > 0
        ? random.pick(recoverable).table.deletedAt
        : 12_345
    const chosen = named === undefined ? recoverable.at(-1) : recoverable.find(({ table }) => table.deletedAt === named)
    const body = named === undefined ? random.pick([undefined, '{}']) : JSON.stringify({ deletedAt: named })
    const answer = await this.#ask(this.#secret, 'POST', `/${name}/restore`, body)
    if (active !== undefined && recoverable.length === 0) {
      expect({ status: answer.status, body: answer.body }).toEqual({
        status: 200,
        body: this.#shownTable(name, active),
      })
      return
    }
    if (chosen === undefined) return this.#expectRefusal(answer, 'table_not_found')
    if (active !== undefined) {
      this.#expectRefusal(answer, 'table_exists')
      expect(answer.body.error.hint).toContain(String(chosen.table.deletedAt))
      return
    }
    this.naive.deleted.splice(this.naive.deleted.indexOf(chosen), 1)
    chosen.table.deletedAt = undefined
    this.naive.active.set(name, chosen.table)
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: this.#shownTable(name, chosen.table),
    })
  }

  async #getTable(name: string): Promise<void> {
    const table = this.naive.active.get(name)
    const answer = await this.#ask(this.#reader, 'GET', `/${name}`)
    if (table === undefined) return this.#expectRefusal(answer, 'table_not_found')
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: this.#shownTable(name, table) })
  }

  async #listPages(parameters: string): Promise<Json[]> {
    const tables: Json[] = []
    const limit = this.#random.int(1, 4)
    let cursor = ''
    do {
      const answer = await this.#ask(this.#reader, 'GET', `?limit=${limit}${parameters}${cursor}`)
      expect(answer.status).toBe(200)
      expect(answer.body.tables.length).toBeLessThanOrEqual(limit)
      tables.push(...answer.body.tables)
      cursor = answer.body.cursor === null ? '' : `&cursor=${encodeURIComponent(answer.body.cursor)}`
    } while (cursor !== '')
    return tables
  }

  async #listTables(): Promise<void> {
    const expected = [...this.naive.active].toSorted(([a], [b]) => (a < b ? -1 : 1))
    expect(await this.#listPages('')).toEqual(expected.map(([name, table]) => this.#shownTable(name, table)))
  }

  async #listDeletedTables(): Promise<void> {
    const expected = this.naive.recoverable(this.#now()).map(({ name, table }) => this.#shownTable(name, table))
    expect(await this.#listPages('&deleted=true')).toEqual(expected)
  }
}
