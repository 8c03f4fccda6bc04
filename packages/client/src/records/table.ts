import { isRunChange, writeRunChange } from '../tasks/run-change.ts'
import { type BatchPart, sendBatch } from '../transport/batch.ts'
import { absentIf, CubbyError, isCode, refusal } from '../transport/errors.ts'
import { makeUpKey, type OnceOptions, onceHeader } from '../transport/idempotency.ts'
import { countAll, type Pages, queryPages } from '../transport/pages.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'
import type {
  BatchResponse,
  DeleteRecordResponse,
  FindResponse,
  Indices,
  LoadResponse,
  MinimalRecordResponse,
  QueryResponse,
  RecordKey,
  RecordResponse,
} from '../transport/wire.ts'
import type { Change, ChangesRequest, ChangesResponse, KeyChange } from '../transport/wire-changes.ts'
import { conditionHeaders, effectOf, parseCondition } from './condition.ts'
import { findMany } from './find-many.ts'
import type { Changes, ChangesOptions, WatchOptions, WatchQuery } from './following.ts'
import type { LoadOptions, LoadSource } from './loading.ts'
import { checkKey, type Key, keyPath, parseKey } from './record-key.ts'
import { type SaveManyOptions, type SaveResult, saveMany, type WrittenOperation } from './save-many.ts'
import { ttlSeconds } from './ttl.ts'
import type {
  Condition,
  ReadData,
  RecordPatch,
  SaveOperation,
  SaveRecord,
  TableOperation,
  TableQuery,
} from './typed-table.ts'

export type SaveOptions = OnceOptions & Condition

export interface FindOptions extends RequestOptions {
  /** The number of requests that may be in flight. Default 4. */
  concurrency?: number
}

export type RemoveOptions = OnceOptions & Pick<Condition, 'ifMatch'>

type TableRecord<Data> = RecordResponse<ReadData<Data>>
type TablePage<Data> = QueryResponse<ReadData<Data>>
type KeysPage = QueryResponse<never, MinimalRecordResponse>

/** The body of a put. */
const putFields = (record: SaveRecord<never> & Condition): object => {
  // Unknown fields are sent too, so that the server rejects them by name: a typo must not be lost. Only `updatedAt` is
  // left out, so that a record that was read can be saved as it is.
  const { updatedAt, ifMatch, ifAbsent, ttl, ...fields } = record as typeof record & { updatedAt?: number }
  return { ...fields, ttl: ttlSeconds(ttl) }
}

const checkOperation = (operation: RecordKey & Condition, prefix: string) => {
  checkKey(operation, prefix)
  return parseCondition(operation, prefix)
}

export const writeOperation = (operation: RecordKey & Condition & { op: string }, prefix: string): WrittenOperation => {
  const ifUpdatedAt = checkOperation(operation, prefix)
  return {
    key: operation,
    json: JSON.stringify(
      { ...putFields(operation as never), ...(ifUpdatedAt !== undefined && { ifUpdatedAt }) },
      operation.op === 'patch' ? refuseNotANumber : undefined,
    ),
    // A check holds again after the batch was applied: it changes no version.
    guarded: typeof ifUpdatedAt === 'number' && operation.op !== 'check',
    repeatable: operation.op === 'check',
  }
}

/** JSON would turn it into null, which removes a member in a merge. */
const refuseNotANumber = (name: string, value: unknown): unknown => {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw refusal('invalid_request', name, `is ${value}, which JSON cannot say.`)
}

/** Several requests cannot have one key. */
const refuseIdempotencyKey = ({ idempotencyKey }: OnceOptions, reason: string): void => {
  if (idempotencyKey !== undefined) throw refusal('invalid_request', 'idempotencyKey', reason)
}

/** Each of several operations has its own condition. One given for all of them is rejected, not ignored. */
export const refuseCondition = (options: RequestOptions & Condition): void => {
  if (parseCondition(options) === undefined) return
  throw refusal('invalid_request', 'options', 'has a condition; with many records, put it into each of them.')
}

const writeHeaders = (
  condition: ReturnType<typeof parseCondition>,
  { minimal, idempotencyKey }: OnceOptions & { minimal?: boolean },
): Record<string, string> => ({
  ...conditionHeaders(condition),
  ...(minimal && { prefer: 'return=minimal' }),
  ...onceHeader(idempotencyKey),
})

const isMany = <R>(given: R | readonly R[]): given is readonly R[] => Array.isArray(given)

export class Table<Data extends object = Record<string, unknown>, I extends Indices = Indices> {
  /** @internal */
  static readonly name: string = 'Table'
  readonly #send: Send
  readonly #path: string

  /** Call `db('app').table('orders')` instead. */
  constructor(send: Send, path: string) {
    this.#send = send
    this.#path = path
  }

  /** Puts one record: creates it or replaces it. With `minimal` the response has no `data`. */
  save(record: SaveRecord<Data> & Condition, options: SaveOptions & { minimal: true }): Promise<MinimalRecordResponse>
  save(record: SaveRecord<Data> & Condition, options?: SaveOptions & { minimal?: boolean }): Promise<TableRecord<Data>>
  /**
   * Puts any number of records: 25 in each atomic request, several requests at once. If a key occurs twice, the later
   * record wins. After a failed request no further one is sent; the `SaveError` has the status of every record.
   */
  save(records: readonly SaveOperation<Data>[], options?: SaveManyOptions): Promise<SaveResult>
  async save(
    given: (SaveRecord<Data> & Condition) | readonly SaveOperation<Data>[],
    options: SaveManyOptions & SaveOptions & { minimal?: boolean } = {},
  ): Promise<unknown> {
    if (isMany(given)) {
      refuseCondition(options)
      refuseIdempotencyKey(
        options,
        'is for one request, and many records are saved in several: use batch for up to 25.',
      )
      // Check all records before the first one is sent.
      given.forEach((record, i) => {
        checkOperation(record, `records[${i}].`)
      })
      return saveMany(
        given,
        (record) => writeOperation({ op: 'put', ...record }, ''),
        (operations) => this.#sendBatch(operations, options),
        options,
      )
    }
    checkKey(given)
    const condition = parseCondition({ ...given, ...options })
    return this.#send(
      {
        method: 'PUT',
        path: this.#path,
        effect: effectOf(typeof condition === 'number', options.idempotencyKey),
        body: JSON.stringify(putFields(given as SaveRecord<never>)),
        headers: writeHeaders(condition, options),
      },
      options,
    )
  }

  /**
   * Puts any number of records in their order, from an array, an iterable or a stream, which is read as it is sent: 1,000 records in each
   * request. The bytes of lines of JSON are sent as they are. It is not atomic: after a failure, which rejects with a `LoadError`, the
   * lines that are stored are the first ones, and the same load again leaves the same records. So a request without an answer is sent
   * again: what somebody else wrote in between is overwritten, and with `ifAbsent` its own records count as skipped.
   */
  async load(records: LoadSource<Data>, options: LoadOptions = {}): Promise<LoadResponse> {
    // A module of its own, so that programs that load no records do not load it.
    const { load } = await import('../load.ts')
    return load(this.#send, this.#path, records as LoadSource<never>, options)
  }

  /**
   * Changes a part of a record, which is created if it does not exist: `merge`, then `increment`, then `append`. Racing patches
   * are applied one after another. With `minimal` the response has no `data`. A lost answer is no harm: the patch is sent again
   * with the same idempotency key, and is applied once. The answer to a patch that had been applied has no `data`.
   */
  patch(key: Key, change: RecordPatch<Data>, options: SaveOptions & { minimal: true }): Promise<MinimalRecordResponse>
  patch(key: Key, change: RecordPatch<Data>, options?: SaveOptions & { minimal?: boolean }): Promise<TableRecord<Data>>
  async patch(
    key: Key,
    change: RecordPatch<Data>,
    options: SaveOptions & { minimal?: boolean } = {},
  ): Promise<unknown> {
    const condition = parseCondition({ ...(key as RecordKey), ...options })
    const record = await this.#send<MinimalRecordResponse>(
      {
        method: 'PATCH',
        path: this.#path,
        effect: 'once',
        body: JSON.stringify({ ...change, ...parseKey(key), ttl: ttlSeconds(change.ttl) }, refuseNotANumber),
        headers: writeHeaders(condition, { ...options, idempotencyKey: options.idempotencyKey ?? makeUpKey() }),
      },
      options,
    )
    // A repeated request, which was applied before its answer was lost, is answered without data.
    if (options.minimal || 'data' in record) return record
    return (await this.findOne(record, options)) ?? record
  }

  /** The record, or undefined if it does not exist. */
  async findOne(key: Key, options?: RequestOptions): Promise<TableRecord<Data> | undefined> {
    const recordKey = parseKey(key)
    const path = keyPath(recordKey)
    if (path === undefined) return (await this.find([recordKey], options))[0]
    return absentIf('record_not_found', this.#send({ method: 'GET', path: this.#path + path, effect: 'read' }, options))
  }

  /**
   * The records of many keys, in the order of the keys. Undefined for a record that does not exist. 100 keys are read in
   * each request, several requests at once.
   */
  async find(keys: readonly Key[], options: FindOptions = {}): Promise<(TableRecord<Data> | undefined)[]> {
    return findMany(
      keys,
      (body) =>
        this.#send<FindResponse<ReadData<Data>>>(
          { method: 'POST', path: `${this.#path}/find`, effect: 'read', body },
          options,
        ),
      options.concurrency,
    )
  }

  /** Await it to get one page, or use `for await` to get the records of all pages. */
  query(
    query: TableQuery<Data, I> & { select?: 'data' },
    options?: RequestOptions,
  ): Pages<TablePage<Data>, TableRecord<Data>>
  /** The same without `data`: keys, `ttl` and `updatedAt`. */
  query(
    query: TableQuery<Data, I> & { select: 'keys' },
    options?: RequestOptions,
  ): Pages<KeysPage, MinimalRecordResponse>
  query(query: object, options?: RequestOptions): unknown {
    return queryPages(this.#send, this.#path, query, options)
  }

  /** The number of records that the query finds, in all its pages. */
  async count(
    query: TableQuery<Data, I> & { select?: 'count'; limit?: never },
    options?: RequestOptions,
  ): Promise<number> {
    return countAll(this.#send, this.#path, query, options)
  }

  /** One page of the changes. The table must keep them: `tables.keepChanges`. */
  readChanges(
    request?: ChangesRequest & { select?: 'data' },
    options?: RequestOptions,
  ): Promise<ChangesResponse<Change<ReadData<Data>>>>
  /** The same without `data`. */
  readChanges(
    request: ChangesRequest & { select: 'keys' },
    options?: RequestOptions,
  ): Promise<ChangesResponse<KeyChange>>
  async readChanges(request: ChangesRequest = {}, options?: RequestOptions): Promise<unknown> {
    return this.#send(
      {
        method: 'POST',
        path: `${this.#path}/changes`,
        effect: 'read',
        body: JSON.stringify(request),
        waitMs: (request.waitSeconds ?? 0) * 1000,
      },
      options,
    )
  }

  /**
   * Every live record, then what changes, for as long as the loop lasts: over a stream, which is opened again when it breaks. Store
   * `changes.cursor` to go on there. It throws what a retry cannot fix, such as `cursor_expired`.
   */
  changes(options?: ChangesOptions & { select?: 'data' }): Changes<Change<ReadData<Data>>>
  /** The same without `data`. */
  changes(options: ChangesOptions & { select: 'keys' }): Changes<KeyChange>
  changes(options: ChangesOptions = {}): Changes<unknown> {
    const changes = {
      cursor: options.cursor ?? null,
      [Symbol.asyncIterator]: () => {
        const followed = import('../changes.ts').then(({ follow }) => follow(this.#send, this.#path, options, changes))
        return { next: async () => (await followed).next(), return: async () => (await followed).return() }
      },
    }
    return changes
  }

  /**
   * Runs the query, and again after each change that may concern its result: its first `limit` records. It resolves when the signal
   * aborts, and rejects with what a retry cannot fix, or with what `onChange` throws.
   */
  async watch(query: WatchQuery<Data, I>, options: WatchOptions<TableRecord<Data>>): Promise<void> {
    const { watch } = await import('../changes.ts')
    return watch(this.#send, this.#path, query as never, options)
  }

  /** `deleted` is false if there was no record. */
  async remove(key: Key, options: RemoveOptions = {}): Promise<DeleteRecordResponse> {
    const recordKey = parseKey(key)
    // `key` may be an object with a condition in it, which must not be lost. Spreading a string is harmless.
    const condition = parseCondition({ ...(key as RecordKey), ...options })
    const path = keyPath(recordKey)
    if (path === undefined) {
      refuseIdempotencyKey(options, 'cannot be used with this key: it is removed by two requests.')
      return this.#removeByBatch(recordKey, condition, options)
    }
    return this.#send(
      {
        method: 'DELETE',
        path: this.#path + path,
        effect: effectOf(typeof condition === 'number', options.idempotencyKey),
        headers: writeHeaders(condition, options),
      },
      options,
    )
  }

  /** Applies 1 to 25 operations, all or none: puts, patches, deletes and checks of records, runs to add and runs to finish. */
  async batch(operations: readonly TableOperation<Data>[], options: OnceOptions = {}): Promise<BatchResponse> {
    refuseCondition(options)
    return this.#sendBatch(
      operations.map((operation, i) =>
        isRunChange(operation) ? writeRunChange(operation) : writeOperation(operation, `operations[${i}].`),
      ),
      options,
    )
  }

  #sendBatch(operations: BatchPart[], options: RequestOptions): Promise<BatchResponse> {
    return sendBatch(this.#send, `${this.#path}/batch`, operations, options)
  }

  /** A batch does not say whether a record existed. So this reads the record, then removes that version. */
  async #removeByBatch(
    key: RecordKey,
    condition: ReturnType<typeof parseCondition>,
    options: RequestOptions,
  ): Promise<DeleteRecordResponse> {
    for (;;) {
      const found = typeof condition === 'number' ? { updatedAt: condition } : await this.findOne(key, options)
      if (found === undefined) {
        if (condition === '*') throw new CubbyError('precondition_failed', 'There is no such record.', { status: 412 })
        return { deleted: false }
      }
      try {
        await this.#sendBatch([writeOperation({ op: 'delete', ...key, ifMatch: found.updatedAt }, '')], options)
        return { deleted: true }
      } catch (error) {
        // Somebody wrote or removed it in between: read again.
        if (typeof condition === 'number' || !isCode(error, 'precondition_failed')) throw error
      }
    }
  }
}
