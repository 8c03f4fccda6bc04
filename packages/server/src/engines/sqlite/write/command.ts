import type { ErrorCode } from '../../../core/errors.ts'
import type { Hint } from '../../../core/hint.ts'
import { type IndexEntries, slots } from '../../../core/tables/indices.ts'
import type { Condition, DeleteOperation, PutOperation, RecordOperation } from '../../../store/records.ts'
import type { Fence } from '../registry/registry-writes.ts'
// Only the types are imported: the writer thread alone loads the functions.
import type { commands } from './commands.ts'

export type CommandKind = keyof typeof commands

export type CommandResult<K extends CommandKind> = ReturnType<(typeof commands)[K]>

/** A command as it is sent: its name, and the input of its function in the table of commands. */
export type CommandOf<K extends CommandKind> = { kind: K } & Parameters<(typeof commands)[K]>[1]

export type Command = { [K in CommandKind]: CommandOf<K> }[CommandKind]

/**
 * Tells whether a registry cache may be wrong after this command. Only these commands move the registry's epoch or the user epoch;
 * tasks are among them because the row of a table lists those that follow it. A missing row is never cached, so a command that only adds leaves
 * every cache correct.
 */
export const makesCachesStale = ({ kind }: Command): boolean =>
  kind === 'deleteTable' ||
  kind === 'keepChanges' ||
  kind === 'declareTask' ||
  kind === 'deleteTask' ||
  kind === 'restoreTask' ||
  kind === 'revokeApiKey' ||
  kind === 'rollApiKey' ||
  kind === 'deleteOrganization' ||
  kind === 'rotateSecrets' ||
  kind === 'loadSecrets' ||
  kind === 'revokeUser' ||
  kind === 'putIssuer' ||
  kind === 'deleteIssuer' ||
  kind === 'loadUsers'

export interface CommandFailure {
  code: ErrorCode
  message: string
  field?: string
  hint?: Hint
  /** The log shows it, never the caller. */
  cause?: string
}

export type Outcome = { value: unknown } | { failure: CommandFailure }

// A group of commands is one string between threads, and so are its outcomes: a string is passed without a copy of each member,
// which an object needs. The numbers come first, as a line of JSON. The texts follow, one after the other; their lengths are
// among the numbers.

type Numbers = (number | null)[]

const entryCount = 2 * slots.length

/** Characters of a SHA-256 in hex. */
const hashLength = 64

const conditionCode = (condition: Condition | undefined): number =>
  condition === undefined ? 0 : condition === 'exists' ? 1 : condition === 'absent' ? 2 : 3

const decodeCondition = (code: number, version: number): Condition | undefined =>
  code === 0 ? undefined : code === 1 ? 'exists' : code === 2 ? 'absent' : { version }

/** Stands in place of the number of operations: the command is JSON. */
const otherCommand = -1
/** The command is JSON, followed by the bytes of a file, which JSON would escape. */
const commandWithBytes = -2
/** The puts of a load, for records that exist too, or only for others. */
const putAllCommand = -3
const putAllAbsentCommand = -4

const hasUser = ({ fence }: { fence: Fence }): boolean =>
  fence.user !== undefined || typeof fence.once?.userHash === 'string'

export const encodeGroup = (commands: Command[]): string => {
  const numbers: Numbers = []
  let texts = ''
  const push = (text: string | null): void => {
    numbers.push(text === null ? null : text.length)
    if (text !== null) texts += text
  }
  const pushFence = ({ epoch, orgId, keySeq, tableId }: Fence, nowMs: number): void => {
    numbers.push(epoch, orgId, keySeq, tableId, nowMs)
  }
  const pushOperation = (operation: PutOperation | DeleteOperation): void => {
    const { condition } = operation
    numbers.push(conditionCode(condition), typeof condition === 'object' ? condition.version : 0)
    push(operation.hashKey)
    push(operation.rangeKey)
    if (operation.op === 'delete') push(null)
    else {
      push(operation.data)
      numbers.push(operation.ttlSeconds, operation.updatedAtMs ?? null)
      for (let i = 0; i < entryCount; i++) push(operation.entries[i]!)
    }
  }
  for (const command of commands) {
    if (command.kind === 'putAll' && !hasUser(command)) {
      const { fence, puts, onlyAbsent, nowMs } = command
      numbers.push(onlyAbsent ? putAllAbsentCommand : putAllCommand, puts.length)
      pushFence(fence, nowMs)
      for (const put of puts) pushOperation(put)
      continue
    }
    if (command.kind === 'commitFile' && command.bytes !== undefined) {
      const { bytes, ...others } = command
      numbers.push(commandWithBytes)
      push(JSON.stringify(others))
      push(bytes)
      continue
    }
    const isPlain = command.kind === 'write' && !command.operations.some(({ op }) => op === 'patch' || op === 'check')
    if (!isPlain || hasUser(command)) {
      numbers.push(otherCommand)
      push(JSON.stringify(command))
      continue
    }
    const { fence, operations } = command
    numbers.push(operations.length)
    pushFence(fence, command.nowMs)
    const { once } = fence
    push(once === undefined ? null : once.keyHash + once.requestHash + once.scopeKind)
    if (once !== undefined) numbers.push(once.scopeId)
    for (const operation of operations as (PutOperation | DeleteOperation)[]) pushOperation(operation)
  }
  return `${JSON.stringify(numbers)}\n${texts}`
}

export const decodeGroup = (group: string): Command[] => {
  const lineEnd = group.indexOf('\n')
  const numbers = JSON.parse(group.slice(0, lineEnd)) as Numbers
  let at = 0
  let textAt = lineEnd + 1
  const next = (): number => numbers[at++] as number
  const nextText = (): string | null => {
    const length = numbers[at++]!
    if (length === null) return null
    textAt += length
    return group.slice(textAt - length, textAt)
  }
  const nextOperation = (): RecordOperation => {
    const condition = decodeCondition(next(), next())
    const hashKey = nextText()!
    const rangeKey = nextText()!
    const data = nextText()
    if (data === null) return { op: 'delete', hashKey, rangeKey, condition }
    const ttlSeconds = numbers[at++]!
    const updatedAtMs = numbers[at++] ?? undefined
    const entries: IndexEntries = []
    for (let i = 0; i < entryCount; i++) entries.push(nextText())
    return { op: 'put', hashKey, rangeKey, condition, data, ttlSeconds, entries, updatedAtMs }
  }
  const nextOperations = (count: number): RecordOperation[] => {
    const operations: RecordOperation[] = []
    for (let i = 0; i < count; i++) operations.push(nextOperation())
    return operations
  }
  const nextFence = (): Fence => ({ epoch: next(), orgId: next(), keySeq: numbers[at++]!, tableId: numbers[at++]! })
  const commands: Command[] = []
  while (at < numbers.length) {
    const count = next()
    if (count === otherCommand) {
      commands.push(JSON.parse(nextText()!) as Command)
      continue
    }
    if (count === commandWithBytes) {
      const command = JSON.parse(nextText()!) as CommandOf<'commitFile'>
      commands.push({ ...command, bytes: nextText()! })
      continue
    }
    if (count === putAllCommand || count === putAllAbsentCommand) {
      const putCount = next()
      const [fence, nowMs] = [nextFence(), next()]
      const puts = nextOperations(putCount) as PutOperation[]
      commands.push({ kind: 'putAll', fence, nowMs, puts, onlyAbsent: count === putAllAbsentCommand })
      continue
    }
    const fence = nextFence()
    const nowMs = next()
    const once = nextText()
    if (once !== null) {
      const [keyHash, requestHash] = [once.slice(0, hashLength), once.slice(hashLength, 2 * hashLength)]
      fence.once = { scopeId: next(), scopeKind: once.slice(2 * hashLength), keyHash, requestHash }
    }
    commands.push({ kind: 'write', fence, nowMs, operations: nextOperations(count) })
  }
  return commands
}

export const encodeOutcomes = (outcomes: Outcome[]): string => JSON.stringify(outcomes)

/** JSON has no undefined: it becomes `{}`. */
export const decodeOutcomes = (text: string): Outcome[] =>
  (JSON.parse(text) as Outcome[]).map((outcome) => ('failure' in outcome ? outcome : { value: outcome.value }))
