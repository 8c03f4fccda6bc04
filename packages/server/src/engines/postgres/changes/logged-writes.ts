import { CubbyError } from '../../../core/errors.ts'
import { sliceUnits } from '../../../core/slices.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { RecordOperation, WriteResult } from '../../../store/records.ts'
import type { Table } from '../../../store/tables.ts'
import { toBytesOrNull } from '../connection/bytes.ts'
import { holderOf, type Transaction, tokenOf } from '../connection/database.ts'
import { type BoundStatement, bind } from '../connection/driver.ts'
import { isDuplicate, unavailable } from '../connection/failure.ts'
import { requireToken, tokenStateStatement } from '../connection/user-guard.ts'
import { keyValues } from '../records/lock-order.ts'
import type { PatchTurns } from '../records/patch-turns.ts'
import { drawIds, idStride, insertRow, lockRow, removeRow, replaceRow } from '../records/statements.ts'
import { requireActive, stateStatement } from '../records/write-guard.ts'
import { commitOnce } from '../registry/idempotency-keys.ts'
import { RecordGroup, type RecordState } from './record-group.ts'
import type { OpenLogs, TableLogs } from './table-logs.ts'

// The counter of a table is locked until the commit, so the writes of its table come one after another. Those that have to wait
// are gathered, and one transaction of two round trips writes them all: locks and reads, then the writes. In between, each is
// decided on what the ones before it have left.

/** A group has at most this many operations and characters, but at least one write. */
const groupOperationsMax = 64
const groupCharactersMax = 1024 * 1024
/** A group is written again this often if a write from before the log was begun has added the same record. */
const attemptsMax = 10

interface Call {
  caller: Caller
  operations: RecordOperation[]
  nowMs: number
}

/** What became of a call. A refusal is an error of this call only. */
type Outcome = { result: WriteResult } | { error: unknown }

interface WaitingCall extends Call {
  settle(outcome: Outcome): void
}

const charactersOf = ({ operations }: Call): number =>
  operations.reduce((sum, operation) => sum + (operation.op === 'put' ? operation.data.length : 0), 0)

/** Writes records of tables whose writes are counted. */
export class LoggedWrites {
  readonly #logs: TableLogs
  readonly #patchTurns: PatchTurns
  readonly #waiting = new Map<number, Set<WaitingCall>>()

  constructor(logs: TableLogs, patchTurns: PatchTurns) {
    this.#logs = logs
    this.#patchTurns = patchTurns
  }

  write(caller: Caller, table: Table, operations: RecordOperation[], nowMs: number): Promise<WriteResult> {
    return this.#patchTurns.runInRoom(caller.orgId, [{ table, records: operations }], () =>
      this.#gather(table, { caller, operations, nowMs }),
    )
  }

  /** Writes with an idempotency key are not gathered: if its result is there already, nothing of the transaction may stay. */
  async #gather(table: Table, call: Call): Promise<WriteResult> {
    if (call.caller.once !== undefined) {
      const [outcome] = await this.#logs.turns.run(holderOf(call.caller), [table.id], () => this.#commit(table, [call]))
      return resultOf(outcome!)
    }
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const own: WaitingCall = { ...call, settle: resolve }
    const waiting = this.#waiting.get(table.id) ?? new Set()
    this.#waiting.set(table.id, waiting.add(own))
    this.#logs.turns
      .run(holderOf(call.caller), [table.id], () => this.#writeGroup(table, own))
      .catch((error: unknown) => {
        // A call that still waits did not get its turn. Any other has its outcome.
        if (this.#take(table.id, own)) resolve({ error })
      })
    return resultOf(await promise)
  }

  /** Returns whether the call was still waiting. */
  #take(tableId: number, call: WaitingCall): boolean {
    const waiting = this.#waiting.get(tableId)
    if (!waiting?.delete(call)) return false
    if (waiting.size === 0) this.#waiting.delete(tableId)
    return true
  }

  async #writeGroup(table: Table, first: WaitingCall): Promise<void> {
    // Another call may have taken it along.
    if (!this.#take(table.id, first)) return
    const group = [first]
    let operations = first.operations.length
    let characters = charactersOf(first)
    for (const next of this.#waiting.get(table.id) ?? []) {
      operations += next.operations.length
      characters += charactersOf(next)
      if (operations > groupOperationsMax || characters > groupCharactersMax) break
      this.#take(table.id, next)
      group.push(next)
    }
    try {
      const outcomes = await this.#commit(table, group)
      for (const [i, { settle }] of group.entries()) settle(outcomes[i]!)
    } catch (error) {
      // One call that the database refuses must not refuse the others. A failure of the whole database is the same for all.
      const isOfAll = group.length === 1 || error instanceof CubbyError
      for (const call of group) {
        call.settle(
          isOfAll
            ? { error }
            : await this.#commit(table, [call]).then(
                ([one]) => one!,
                (own) => ({ error: own }),
              ),
        )
      }
    }
  }

  /** Writes the calls in one transaction. */
  async #commit(table: Table, calls: Call[]): Promise<Outcome[]> {
    // The calls may be of several users: each token is confirmed under the lock of the counter.
    const holder = { ...holderOf(calls[0]!.caller), token: undefined }
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      try {
        return await this.#logs.runInTurn(holder, [table.id], calls[0]!.nowMs, (transaction, logs) =>
          this.#apply(transaction, logs, table, calls),
        )
      } catch (error) {
        if (!isDuplicate(error)) throw error
      }
    }
    throw unavailable('The records kept changing.')
  }

  async #apply(transaction: Transaction, logs: OpenLogs, table: Table, calls: Call[]): Promise<Outcome[]> {
    const callers = new Map(calls.map(({ caller }) => [caller.apiKey?.seq, caller]))
    const tokens = calls.map(({ caller }) => tokenOf(caller))
    const operations = calls.flatMap((call) => call.operations)
    const group = new RecordGroup(operations, (length) => this.#patchTurns.note(table, length))
    const draws = Math.ceil(group.idsMax / idStride)
    const answers = await transaction.send(
      ...logs.locks,
      ...[...callers.values()].map((caller) => stateStatement(caller, table)),
      ...tokens.flatMap((token) => (token === undefined ? [] : [tokenStateStatement(token)])),
      ...Array.from({ length: draws }, () => bind(drawIds)),
      ...group.states.map((state) => bind(lockRow, ...keyValues(table, state), state.isPatched ? 't' : 'f')),
    )
    const behind = logs.takeLocks(answers).map(({ rows }) => rows[0])
    const states = new Map([...callers.keys()].map((keySeq) => [keySeq, behind.shift()!]))
    const tokenStates = tokens.map((token) => token && behind.shift()!)
    const ids = behind
      .splice(0, draws)
      .flatMap((row) => Array.from({ length: idStride }, (_, i) => Number(row![0]) + i))
    group.take(ids, behind, logs.newestMs(table.id))
    const outcomes: Outcome[] = []
    let doneUnits = 0
    for (const [i, { caller, operations, nowMs }] of calls.entries()) {
      try {
        requireActive(table, states.get(caller.apiKey?.seq)!)
        if (tokenStates[i] !== undefined) requireToken(tokenStates[i])
        const result = group.apply(operations, nowMs)
        outcomes.push({ result })
        doneUnits += lengthOfPatches(result)
      } catch (error) {
        outcomes.push({ error })
      }
      if (doneUnits < sliceUnits) continue
      await new Promise((resolve) => setImmediate(resolve))
      doneUnits = 0
    }
    const writes = group.states.flatMap((state) => writesOf(table, state))
    const { caller, nowMs } = calls[0]!
    const [outcome] = outcomes
    if (caller.once !== undefined && 'result' in outcome! && outcome.result.applied) {
      const { result } = outcome
      logs.append(table.id, group.entries)
      await commitOnce(transaction, caller, nowMs, [...writes, ...logs.statements], () => result)
    } else if (writes.length + group.entries.length > 0) {
      logs.append(table.id, group.entries)
      await transaction.commit(...writes, ...logs.statements)
    }
    return outcomes
  }
}

const resultOf = (outcome: Outcome): WriteResult => {
  if ('error' in outcome) throw outcome.error
  return outcome.result
}

const lengthOfPatches = (result: WriteResult): number =>
  result.applied ? result.results.reduce((sum, one) => sum + ('length' in one ? one.length : 0), 0) : 0

const writesOf = (table: Table, state: RecordState): BoundStatement[] => {
  const { isStored, isChanged, current } = state
  if (!isChanged) return []
  const key = keyValues(table, state)
  if (current === undefined) return isStored ? [bind(removeRow, ...key)] : []
  const { id, data, ttlSeconds, updatedAtMs, entries } = current
  const values = [...key, data, ttlSeconds, updatedAtMs, ...entries!.map(toBytesOrNull), id]
  return [bind(isStored ? replaceRow : insertRow, ...values)]
}
