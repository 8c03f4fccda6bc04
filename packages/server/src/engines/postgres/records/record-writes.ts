import { deletedAt, type EntryKind, entryKind, timeInLog } from '../../../core/changes/log-entry.ts'
import { batchOperationsMax } from '../../../core/limits.ts'
import { holds } from '../../../core/records/condition.ts'
import { nowSeconds } from '../../../core/records/expiry.ts'
import type { RecordKey } from '../../../core/records/record-key.ts'
import type { Holder } from '../../../core/shares.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type {
  DeleteOperation,
  OperationResult,
  PutOperation,
  RecordOperation,
  WriteResult,
} from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import { LoggedWrites } from '../changes/logged-writes.ts'
import type { NewEntry, OpenLogs, TableLogs } from '../changes/table-logs.ts'
import { bigintArray, bytesArray, textArray } from '../connection/arrays.ts'
import { toBytes, toBytesOrNull, toHex } from '../connection/bytes.ts'
import type { Coalescer } from '../connection/coalescer.ts'
import { type Database, holderOf, tokenOf } from '../connection/database.ts'
import type { BoundStatement, Row, Session, Statement, StatementResult, Value } from '../connection/driver.ts'
import { isRaised, unavailable } from '../connection/failure.ts'
import { tokenGuardStatement } from '../connection/user-guard.ts'
import type { Dialect } from '../dialect.ts'
import { commitOnce, type PostgresIdempotencyKeys } from '../registry/idempotency-keys.ts'
import { compareKeys, inLockOrder, keyValues } from './lock-order.ts'
import { PatchTurns } from './patch-turns.ts'
import { type DecidedPart, decideWrite, mustDecide, type WritePart } from './record-patches.ts'
import * as sql from './statements.ts'
import { isLogged, requireActive, stateStatement } from './write-guard.ts'

const putsTogetherMax = 16
const putsTogetherBytesMax = 1024 * 1024

if (Math.max(batchOperationsMax, putsTogetherMax) > sql.idStride)
  throw new Error('a batch has more operations than ids')

/** A batch is retried this often if its condition failed but was true when it was read afterwards. */
export const raceAttemptsMax = 10

const kinds = ['none', 'exists', 'version', 'absent'] as const
const byKind = (make: (kind: sql.ConditionKind) => Statement): Record<sql.ConditionKind, Statement> =>
  Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as Record<sql.ConditionKind, Statement>

/** A patch becomes a put before it is written: see record-patches.ts. */
export type Change = PutOperation | DeleteOperation

const putInBatch = byKind(sql.putInBatch)
const deleteInBatch = byKind(sql.deleteInBatch)
/** Statements are made once for each number of rows. */
const rowsOf = (onlyAbsent: boolean): Statement[] =>
  Array.from({ length: batchOperationsMax + 1 }, (_, count) => sql.putRows(count, onlyAbsent))
const putRows = rowsOf(false)
const putAbsentRows = rowsOf(true)
const putMany = sql.putMany(false)
const putManyAbsent = sql.putMany(true)
const putManyLogged = sql.putMany(false, true)
const putManyAbsentLogged = sql.putMany(true, true)

/** No record has version -1. It is sent instead of versions that do not fit into a BIGINT. */
const versionValues = ({ condition }: Change): Value[] => {
  if (typeof condition !== 'object') return []
  return [Number.isSafeInteger(condition.version) ? condition.version : -1]
}

export const changeValues = (table: Table, operation: Change, nowMs: number): Value[] => {
  const key = keyValues(table, operation)
  if (operation.op === 'delete') return [...key, nowSeconds(nowMs)]
  const entries = operation.entries.map(toBytesOrNull)
  return [...key, operation.data, operation.ttlSeconds, operation.updatedAtMs ?? nowMs, ...entries, nowSeconds(nowMs)]
}

/** A put call is a request with one put. */
interface PutCall {
  caller: Caller
  table: Table
  put: PutOperation
  nowMs: number
}

/** A token that is not valid fails all puts that are sent together: then each is sent alone. */
const tokenGuards = (calls: PutCall[]): BoundStatement[] =>
  calls.flatMap(({ caller }) => {
    const token = tokenOf(caller)
    return token === undefined ? [] : [tokenGuardStatement(token)]
  })

/** Makes the arrays of `putBatch`, `putMany` and `putTogether`. `places` are the positions among the operations. */
const rowArrays = (puts: PutOperation[], positions: number[], nowsMs: number[]): Value[] => [
  ...[bigintArray(positions), bytesArray(puts.map((put) => put.hashKey)), bytesArray(puts.map((put) => put.rangeKey))],
  ...[textArray(puts.map((put) => put.data)), bigintArray(puts.map((put) => put.ttlSeconds))],
  bigintArray(puts.map((put, i) => put.updatedAtMs ?? nowsMs[i]!)),
  ...sql.indexColumns.map((_, column) => bytesArray(puts.map((put) => put.entries[column]!))),
]

const isPlainPut = (operation: Change): operation is PutOperation =>
  operation.op === 'put' && operation.condition === undefined

const batchStatement = (table: Table, operation: Change, position: number, nowMs: number): BoundStatement => {
  const kind = sql.conditionKind(operation.condition)
  const change = changeValues(table, operation, nowMs)
  const version = versionValues(operation)
  if (operation.op === 'delete') return { statement: deleteInBatch[kind], values: [...change, ...version] }
  // A put that requires an existing record keeps its id. Only a put that may create one needs a new id.
  const id: Value[] = kind === 'none' || kind === 'absent' ? [position] : []
  return { statement: putInBatch[kind], values: [...change, ...id, ...version] }
}

/** Groups the positions of operations in locking order. Puts without a condition that follow one another are one statement. */
const inGroups = (operations: Change[]): number[][] => {
  const groups: number[][] = []
  let last: Change | undefined
  for (const position of inLockOrder(operations)) {
    const operation = operations[position]!
    if (last !== undefined && isPlainPut(last) && isPlainPut(operation)) groups.at(-1)!.push(position)
    else groups.push([position])
    last = operation
  }
  return groups
}

const rowsStatement = (
  table: Table,
  operations: Change[],
  positions: number[],
  nowMs: number,
  statements = putRows,
): BoundStatement => {
  const rows = positions.flatMap((position): Value[] => {
    const { hashKey, rangeKey, data, ttlSeconds, updatedAtMs = nowMs, entries } = operations[position] as PutOperation
    const key = [toBytes(hashKey), toBytes(rangeKey)]
    return [position, ...key, data, ttlSeconds, updatedAtMs, ...entries.map(toBytesOrNull)]
  })
  return { statement: statements[positions.length]!, values: [table.id, nowSeconds(nowMs), ...rows] }
}

/** A step of `putAll`. `counts`: its count is that of written records. */
type LoadStep = BoundStatement & { counts: boolean }

/** A statement writes each record once. All records of a later round are in the first one, so their locks are held already. */
const inRounds = (puts: PutOperation[]): PutOperation[][] => {
  const rounds: PutOperation[][] = []
  const times = new Map<string, number>()
  for (const put of puts) {
    const key = `${put.hashKey.length}:${put.hashKey}${put.rangeKey}`
    const round = times.get(key) ?? 0
    times.set(key, round + 1)
    rounds[round] ??= []
    rounds[round].push(put)
  }
  return rounds
}

const arraysStatement = (table: Table, puts: PutOperation[], onlyAbsent: boolean, nowMs: number): LoadStep => {
  const order = inLockOrder(puts)
  const rows = rowArrays(
    order.map((position) => puts[position]!),
    order,
    order.map(() => nowMs),
  )
  const draws = Math.ceil(puts.length / sql.idStride)
  const values = [nowSeconds(nowMs), ...rows, table.id, draws]
  const [all, absent] = isLogged(table) ? [putManyLogged, putManyAbsentLogged] : [putMany, putManyAbsent]
  return { statement: onlyAbsent ? absent : all, values, counts: true }
}

/** Without arrays: a statement for each draw of ids. */
const rowsStatements = (table: Table, puts: PutOperation[], onlyAbsent: boolean, nowMs: number): LoadStep[] => {
  const statements = onlyAbsent ? putAbsentRows : putRows
  const sorted = inLockOrder(puts).map((position) => puts[position]!)
  const steps: LoadStep[] = []
  for (let at = 0; at < sorted.length; at += batchOperationsMax) {
    const rows = sorted.slice(at, at + batchOperationsMax)
    steps.push({ statement: sql.drawIds, values: [], counts: false })
    steps.push({ ...rowsStatement(table, rows, [...rows.keys()], nowMs, statements), counts: true })
  }
  return steps
}

/** The statements of one transaction, and the meaning of their results. */
interface BatchStatements {
  bound: BoundStatement[]
  readResults(answers: StatementResult[]): OperationResult[]
  /** What the log of the table gets. */
  readChanges(answers: StatementResult[]): NewEntry[]
}

/** Makes the statements of a batch, without its guard. A condition that does not hold raises an error: see `isRaised`. */
export const batchStatements = (table: Table, operations: Change[], nowMs: number): BatchStatements => {
  const bound: BoundStatement[] = []
  if (operations.some(({ op }) => op === 'put')) bound.push({ statement: sql.drawIds, values: [] })
  /** The index of each operation's step. */
  const answerAt: number[] = new Array(operations.length)
  for (const group of inGroups(operations)) {
    const [position] = group as [number]
    const operation = operations[position]!
    if (operation.op === 'delete') bound.push({ statement: sql.lockInBatch, values: keyValues(table, operation) })
    const statement =
      group.length > 1
        ? rowsStatement(table, operations, group, nowMs)
        : batchStatement(table, operation, position, nowMs)
    bound.push(statement)
    for (const one of group) answerAt[one] = bound.length - 1
  }
  const readResults = (answers: StatementResult[]): OperationResult[] =>
    operations.map((operation, i) => {
      const { rows } = answers[answerAt[i]!]!
      if (operation.op === 'delete') return { deleted: rows[0]![0] === 't' }
      return { updatedAtMs: rows.length === 1 ? Number(rows[0]![0]) : versionIn(rows, operation) }
    })
  const readChanges = (answers: StatementResult[]): NewEntry[] => {
    const results = readResults(answers)
    return operations.flatMap((operation, i) => {
      const result = results[i]!
      if ('updatedAtMs' in result) return [entryOf(operation, entryKind.put, result.updatedAtMs, nowMs)]
      const [live, , updatedAt, ttl, id] = answers[answerAt[i]!]!.rows[0]!
      if (live === 't') return [entryOf(operation, entryKind.delete, deletedAt(Number(updatedAt), nowMs), nowMs)]
      // The sweep will not find the row of an expired record any more.
      return id === '0' ? [] : [entryOf(operation, entryKind.expire, Number(ttl) * 1000, nowMs)]
    })
  }
  return { bound, readResults, readChanges }
}

const entryOf = ({ hashKey, rangeKey }: RecordKey, kind: EntryKind, version: number, atMs: number): NewEntry => ({
  ...{ hashKey, rangeKey, kind, version, atMs },
})

/** Finds the version of a record in rows of `putRows`. */
const versionIn = (rows: Row[], { hashKey, rangeKey }: RecordKey): number => {
  const [hash, range] = [toHex(hashKey), toHex(rangeKey)]
  return Number(rows.find((one) => one[1] === hash && one[2] === range)![0])
}

/** Gives a put its time in the log of its table. */
const inLog = (logs: OpenLogs, { id }: Table, nowMs: number) => {
  const timeMs = timeInLog(nowMs, logs.newestMs(id))
  return <T extends Change>(change: T): T =>
    change.op === 'put' ? { ...change, updatedAtMs: change.updatedAtMs ?? timeMs } : change
}

/**
 * The same for parts that were decided, in which a table may have more operations than one draw of ids is for. `logs`: those of the
 * tables whose writes are counted.
 */
export const decidedStatements = (parts: DecidedPart[], nowMs: number, logs?: OpenLogs) => {
  const bound: BoundStatement[] = []
  const readers = parts.map(({ table, operations: decided, checkedAbsent, readResults }) => {
    const operations = logs !== undefined && isLogged(table) ? decided.map(inLog(logs, table, nowMs)) : decided
    const chunks: (BatchStatements & { own(answers: StatementResult[]): StatementResult[] })[] = []
    for (let at = 0; at < operations.length; at += batchOperationsMax) {
      const chunk = batchStatements(table, operations.slice(at, at + batchOperationsMax), nowMs)
      const from = bound.length
      bound.push(...chunk.bound)
      chunks.push({ ...chunk, own: (answers) => answers.slice(from, from + chunk.bound.length) })
    }
    bound.push(...checkedAbsent.map((key) => ({ statement: sql.removeLock, values: keyValues(table, key) })))
    return {
      results: (answers: StatementResult[]) => readResults(chunks.flatMap((one) => one.readResults(one.own(answers)))),
      changes: (answers: StatementResult[]) => chunks.flatMap((one) => one.readChanges(one.own(answers))),
    }
  })
  return {
    bound,
    readResults: (answers: StatementResult[]) => readers.map(({ results }) => results(answers)),
    /** What the log of the table of the part gets. */
    readChanges: (answers: StatementResult[], part: number) => readers[part]!.changes(answers),
  }
}

/** A statement writes each record once, has one current second, and a bounded number of bytes. */
const canGoTogether = (together: PutCall[], next: PutCall): boolean => {
  let bytes = next.put.data.length
  for (const { table, put, nowMs } of together) {
    if (table.id === next.table.id && compareKeys(put, next.put) === 0) return false
    if (nowSeconds(nowMs) !== nowSeconds(next.nowMs)) return false
    bytes += put.data.length
  }
  return bytes <= putsTogetherBytesMax
}

/** Writes records: one statement for one operation, one pipeline for a batch. Each is one round trip. */
export class RecordWrites {
  readonly #db: Database
  readonly #guarded: boolean
  readonly #fromArrays: boolean
  readonly #puts: Coalescer<PutCall>
  readonly #keys: PostgresIdempotencyKeys
  readonly #logs: TableLogs
  readonly #logged: LoggedWrites
  readonly patchTurns = new PatchTurns()
  readonly #putAlone
  readonly #deleteAlone

  constructor(db: Database, { guardsWrites, putsFromArrays }: Dialect, keys: PostgresIdempotencyKeys, logs: TableLogs) {
    this.#db = db
    this.#logs = logs
    this.#logged = new LoggedWrites(logs, this.patchTurns)
    this.#keys = keys
    this.#guarded = guardsWrites
    this.#fromArrays = guardsWrites && putsFromArrays
    this.#putAlone = byKind((kind) => sql.putAlone(kind, guardsWrites))
    this.#deleteAlone = byKind((kind) => sql.deleteAlone(kind, guardsWrites))
    const options = {
      callsMax: putsTogetherMax,
      // One organization must not wait for the locks of another.
      groupOf: ({ orgId }: Holder) => orgId,
      fits: canGoTogether,
      send: (session: Session, together: PutCall[]) => this.#putTogether(session, together),
    }
    this.#puts = db.coalesce<PutCall>(options, (call) => this.#putAloneStatement(call), true)
  }

  async write(caller: Caller, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult> {
    if (isLogged(table)) return this.#keys.run(caller, () => this.#logged.write(caller, table, operations, nowMs))
    if (caller.once !== undefined || mustDecide(operations)) {
      const part = { table, records: operations }
      return this.#keys.run(caller, () =>
        this.patchTurns.run(caller.orgId, [part], () => this.#decide(caller, part, nowMs)),
      )
    }
    const changes = operations as Change[]
    for (let attempt = 1; attempt <= raceAttemptsMax; attempt++) {
      const results = await this.#apply(caller, table, changes, nowMs)
      if (results !== undefined) return { applied: true, results }
      const refusal = await this.findRefusal(caller, table, operations, nowMs)
      if (refusal !== undefined) return refusal
      // Another write made the condition true in between: retry.
    }
    throw unavailable('The record kept changing.')
  }

  /** Returns undefined if the write was not applied. */
  #apply(caller: Caller, table: Table, operations: Change[], nowMs: number): Promise<OperationResult[] | undefined> {
    if (operations.length === 1) return this.#writeOne(caller, table, operations[0]!, nowMs)
    if (this.#fromArrays && operations.every(isPlainPut)) return this.#putBatch(caller, table, operations, nowMs)
    return this.#writeBatch(caller, table, operations, nowMs)
  }

  async #writeOne(
    caller: Caller,
    table: Table,
    operation: Change,
    nowMs: number,
  ): Promise<OperationResult[] | undefined> {
    const kind = sql.conditionKind(operation.condition)
    const isDelete = operation.op === 'delete'
    // Nothing is written: only the current record decides.
    if (isDelete && kind === 'absent') {
      const refusal = await this.findRefusal(caller, table, [operation], nowMs)
      return refusal === undefined ? [{ deleted: false }] : undefined
    }
    const row = await this.#changeOne(caller, table, operation, nowMs)
    if (row !== undefined) return [isDelete ? { deleted: true } : { updatedAtMs: Number(row[0]) }]
    if (!isDelete || kind !== 'none') return undefined
    // There is no such record, or the guard did not hold.
    if (this.#guarded) await this.#requireActive(caller, table)
    return [{ deleted: false }]
  }

  async #changeOne(caller: Caller, table: Table, operation: Change, nowMs: number): Promise<Row | undefined> {
    if (this.#fromArrays && isPlainPut(operation)) {
      return (await this.#puts.run(holderOf(caller), { caller, table, put: operation, nowMs })).rows[0]
    }
    const kind = sql.conditionKind(operation.condition)
    const guardKey: Value[] = this.#guarded ? [caller.apiKey?.seq ?? null] : []
    const change = changeValues(table, operation, nowMs)
    const version = versionValues(operation)
    const statement: BoundStatement =
      operation.op === 'delete'
        ? { statement: this.#deleteAlone[kind], values: [...change, ...version, ...guardKey] }
        : { statement: this.#putAlone[kind], values: [...change, ...guardKey, ...version] }
    const [result] = await this.#db.write(holderOf(caller), statement)
    return result!.rows[0]
  }

  /** Most batches have only such puts. One statement is 1.5 times as fast as one for each operation. */
  async #putBatch(
    caller: Caller,
    table: Table,
    operations: PutOperation[],
    nowMs: number,
  ): Promise<OperationResult[] | undefined> {
    const order = inLockOrder(operations)
    const puts = order.map((position) => operations[position]!)
    const rows = rowArrays(
      puts,
      order,
      puts.map(() => nowMs),
    )
    const values = [nowSeconds(nowMs), ...rows, table.id, caller.apiKey?.seq ?? null]
    const [result] = await this.#db.write(holderOf(caller), { statement: sql.putBatch, values })
    if (result!.rows.length === 0) return undefined
    const versions = new Map(result!.rows.map(([hash, range, version]) => [`${hash}${range}`, Number(version)]))
    return operations.map((put) => ({ updatedAtMs: versions.get(`${toHex(put.hashKey)}${toHex(put.rangeKey)}`)! }))
  }

  /** See `Records.putAll`. */
  async putAll(
    caller: Caller,
    table: Table,
    puts: PutOperation[],
    onlyAbsent: boolean,
    nowMs: number,
  ): Promise<number> {
    if (isLogged(table)) return this.#putAllLogged(caller, table, puts, onlyAbsent, nowMs)
    const guard = this.#guarded ? [{ statement: sql.guardBatch, values: [table.id, caller.apiKey?.seq ?? null] }] : []
    const bound = inRounds(puts).flatMap((round) => this.#loadSteps(table, round, onlyAbsent, nowMs))
    try {
      const answers = await this.#db.write(holderOf(caller), ...guard, ...bound)
      return answers.reduce((sum, { count }, i) => (bound[i - guard.length]?.counts ? sum + count : sum), 0)
    } catch (error) {
      // Only the guard raises an error.
      if (isRaised(error)) await this.#requireActive(caller, table)
      throw isRaised(error) ? unavailable('The table or the API key kept changing.') : error
    }
  }

  #loadSteps(table: Table, puts: PutOperation[], onlyAbsent: boolean, nowMs: number): LoadStep[] {
    return this.#fromArrays
      ? [arraysStatement(table, puts, onlyAbsent, nowMs)]
      : rowsStatements(table, puts, onlyAbsent, nowMs)
  }

  #putAllLogged(
    caller: Caller,
    table: Table,
    puts: PutOperation[],
    onlyAbsent: boolean,
    nowMs: number,
  ): Promise<number> {
    return this.#logs.run(holderOf(caller), [table.id], nowMs, async ({ send, commit }, logs) => {
      const [state] = logs.takeLocks(await send(...logs.locks, stateStatement(caller, table)))
      requireActive(table, state!.rows[0]!)
      const timed = puts.map(inLog(logs, table, nowMs))
      const rounds = inRounds(timed).map((round) => ({
        ...{ round, steps: this.#loadSteps(table, round, onlyAbsent, nowMs) },
      }))
      const answers = await send(...rounds.flatMap(({ steps }) => steps))
      let written = 0
      for (const { round, steps } of rounds) {
        const rows = answers.splice(0, steps.length).flatMap((answer, i) => (steps[i]!.counts ? answer.rows : []))
        const versions = new Map(rows.map(([version, hash, range]) => [`${hash}${range}`, Number(version)]))
        const entries = round.flatMap((put) => {
          const version = versions.get(`${toHex(put.hashKey)}${toHex(put.rangeKey)}`)
          return version === undefined ? [] : [entryOf(put, entryKind.put, version, nowMs)]
        })
        written += entries.length
        logs.append(table.id, entries)
      }
      await commit(...logs.statements)
      return written
    })
  }

  #putAloneStatement({ caller, table, put, nowMs }: PutCall): BoundStatement {
    const guardKey: Value[] = this.#guarded ? [caller.apiKey?.seq ?? null] : []
    return { statement: this.#putAlone.none, values: [...changeValues(table, put, nowMs), ...guardKey] }
  }

  /** Returns one result for each call, the same as if it had been sent alone. */
  async #putTogether(session: Session, calls: PutCall[]): Promise<StatementResult[]> {
    if (calls.length === 1) return this.#db.send(session, [this.#putAloneStatement(calls[0]!), ...tokenGuards(calls)])
    const sorted = calls
      .map((call, position) => ({ ...call, position }))
      .sort((a, b) => a.table.id - b.table.id || compareKeys(a.put, b.put))
    const rows = rowArrays(
      sorted.map(({ put }) => put),
      sorted.map(({ position }) => position),
      sorted.map(({ nowMs }) => nowMs),
    )
    const guards = [
      bigintArray(sorted.map(({ table }) => table.id)),
      bigintArray(sorted.map(({ caller }) => caller.apiKey?.seq ?? null)),
    ]
    const values = [nowSeconds(calls[0]!.nowMs), ...rows, ...guards]
    const [result] = await this.#db.send(session, [{ statement: sql.putTogether, values }, ...tokenGuards(calls)])
    const versions = new Map(result!.rows.map(([hash, range, version, id]) => [`${id}${hash}${range}`, version!]))
    return calls.map(({ table, put }) => {
      const version = versions.get(`${table.id}${toHex(put.hashKey)}${toHex(put.rangeKey)}`)
      return version === undefined ? { rows: [], count: 0 } : { rows: [[version]], count: 1 }
    })
  }

  async #writeBatch(
    caller: Caller,
    table: Table,
    operations: Change[],
    nowMs: number,
  ): Promise<OperationResult[] | undefined> {
    const { bound, readResults } = batchStatements(table, operations, nowMs)
    const guard = this.#guarded ? [{ statement: sql.guardBatch, values: [table.id, caller.apiKey?.seq ?? null] }] : []
    try {
      const answers = await this.#db.write(holderOf(caller), ...guard, ...bound)
      return readResults(answers.slice(guard.length))
    } catch (error) {
      if (isRaised(error)) return undefined
      throw error
    }
  }

  async #decide(caller: Caller, part: WritePart, nowMs: number): Promise<WriteResult> {
    const { table } = part
    const guard = this.#guarded ? [{ statement: sql.guardBatch, values: [table.id, caller.apiKey?.seq ?? null] }] : []
    try {
      return await this.#db.transaction(holderOf(caller), async (transaction): Promise<WriteResult> => {
        const decided = await decideWrite(transaction.send, guard, [part], nowMs, this.patchTurns)
        if (!Array.isArray(decided))
          return { applied: false, failedOperation: decided.failedOperation, current: decided.current }
        const { bound, readResults } = decidedStatements(decided, nowMs)
        return commitOnce(transaction, caller, nowMs, [...guard, ...bound], (answers) => ({
          applied: true,
          results: readResults(answers.slice(guard.length))[0]!,
        }))
      })
    } catch (error) {
      // Only the guard raises an error, before the records are read or at the commit.
      if (isRaised(error)) await this.#requireActive(caller, table)
      throw isRaised(error) ? unavailable('The table or the API key kept changing.') : error
    }
  }

  /** Finds out why nothing was applied. It returns undefined if it could be applied now. */
  async findRefusal(
    caller: Caller,
    table: Table,
    operations: RecordOperation[],
    nowMs: number,
  ): Promise<Extract<WriteResult, { applied: false }> | undefined> {
    const conditional = operations.flatMap((operation, i) => (operation.condition === undefined ? [] : [i]))
    const [state, ...versions] = await this.#db.read(
      holderOf(caller),
      stateStatement(caller, table),
      ...conditional.map((i) => ({
        statement: sql.currentVersion,
        values: [...keyValues(table, operations[i]!), nowSeconds(nowMs)],
      })),
    )
    requireActive(table, state!.rows[0]!)
    for (const [at, i] of conditional.entries()) {
      const row = versions[at]!.rows[0]
      const current = row === undefined ? undefined : Number(row[0])
      if (!holds(operations[i]!.condition, current)) return { applied: false, failedOperation: i, current }
    }
    return undefined
  }

  async #requireActive(caller: Caller, table: Table): Promise<void> {
    const [state] = await this.#db.read(holderOf(caller), stateStatement(caller, table))
    requireActive(table, state!.rows[0]!)
  }
}
