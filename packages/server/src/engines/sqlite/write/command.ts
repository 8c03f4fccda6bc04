import type { NewApiKey } from '../../../core/api-keys/api-key.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import type { Hint } from '../../../core/hint.ts'
import { type IndexEntries, type Indices, slots } from '../../../core/tables/indices.ts'
import type { Finish, NewRun, Run } from '../../../core/tasks/run.ts'
import type { ApiKey, KeyUse } from '../../../store/api-keys.ts'
import type { FileChangeResult, FileChanges, FileToCommit, FileWriteResult } from '../../../store/files.ts'
import type { DeleteOrganizationResult, Organization, RestoreOrganizationResult } from '../../../store/organizations.ts'
import type { Condition, RecordOperation, WriteResult } from '../../../store/records.ts'
import type {
  AddResult,
  BatchResult,
  ClaimOptions,
  FiredSchedules,
  Pushes,
  RunChange,
  RunReference,
} from '../../../store/runs.ts'
import type { RestoreResult, Table } from '../../../store/tables.ts'
import type { DeclarationToStore, DeclareResult, DeleteTaskResult } from '../../../store/tasks.ts'
import type { LoadRows } from '../../../store/transfer.ts'
import type { DamagedRows } from '../maintenance/add-checksums.ts'
import type { Space, VacuumStep } from '../maintenance/vacuum-step.ts'
import type { TableName } from '../registry/registry-writes.ts'
import type { Rotation } from '../registry/secret-rows.ts'
import type { TaskCommand } from '../runs/batch-writes.ts'
import type { ExpireStep, FireStep } from '../runs/due-runs.ts'
import type { Extension } from '../runs/run-writes.ts'

/**
 * The registry epoch at which the caller's key and table were looked up: `stamp`. If the epoch has moved since, the
 * writer looks them up again before it writes.
 */
export interface Fence {
  stamp: number
  keySeq: number | null
  tableId: number | null
}

interface WriteCommand {
  kind: 'write'
  fence: Fence
  nowMs: number
  operations: RecordOperation[]
}

interface OfTable {
  fence: Fence
  nowMs: number
  table: TableName
}

type RegistryCommand =
  | (OfTable & { kind: 'createTable'; indices: Indices; publicId: string | null })
  | (OfTable & { kind: 'deleteTable' })
  | (OfTable & { kind: 'restoreTable'; deletedAtMs: number | undefined })
  | { kind: 'createApiKey'; fence: Fence; nowMs: number; orgId: number; key: NewApiKey }
  | { kind: 'revokeApiKey'; fence: Fence; nowMs: number; orgId: number; id: string }
  | { kind: 'recordKeyUse'; uses: KeyUse[] }
  | { kind: 'createOrganization'; nowMs: number; name: string; keys: NewApiKey[]; onlyIfFirst: boolean }
  | { kind: 'deleteOrganization'; name: string; nowMs: number }
  | { kind: 'restoreOrganization'; name: string; nowMs: number }
  | ({ kind: 'rotateSecrets' } & Rotation)

interface CommitFileCommand {
  kind: 'commitFile'
  fence: Fence
  file: Omit<FileToCommit, 'bytes'>
  /** Those that the store keeps, as a character each. */
  bytes?: string
  nowMs: number
}

type FileCommand =
  | { kind: 'beginBlob'; fence: Fence; blobId: string; nowMs: number }
  | { kind: 'keepBlobs'; blobIds: string[]; nowMs: number }
  | CommitFileCommand
  | { kind: 'abandonBlob'; blobId: string; nowMs: number }
  | {
      kind: 'changeFile'
      fence: Fence
      name: string
      changes: FileChanges
      condition: Condition | undefined
      nowMs: number
    }
  | { kind: 'removeFile'; fence: Fence; name: string; condition: Condition | undefined; nowMs: number }
  | { kind: 'takeDueBlobs'; nowMs: number; rowsMax: number; keptMs: number }
  | { kind: 'forgetBlobs'; blobIds: string[] }
  | { kind: 'holdBlobs'; untilMs: number }
  | { kind: 'adoptBlobs' }
  | { kind: 'writeFileMark'; mark: string }

type TaskCommands =
  | (OfTable & { kind: 'declareTask'; declaration: DeclarationToStore; condition: Condition | undefined })
  | (OfTable & { kind: 'deleteTask'; condition: Condition | undefined })
  | (OfTable & { kind: 'restoreTask'; deletedAtMs: number | undefined })
  | { kind: 'addTaskSecret'; fence: Fence; secret: string; revokesOld: boolean; nowMs: number }

type RunCommand =
  | { kind: 'addRun'; fence: Fence; run: NewRun; nowMs: number }
  | { kind: 'claimRuns'; fence: Fence; options: ClaimOptions; nowMs: number }
  // The fence of these two names no table: they are accepted while the task is deleted.
  | { kind: 'extendRun'; fence: Fence; taskId: number; id: string; extension: Extension; nowMs: number }
  | { kind: 'finishRun'; fence: Fence; taskId: number; id: string; finish: Finish; nowMs: number }
  | { kind: 'cancelRun'; fence: Fence; id: string; nowMs: number }
  | { kind: 'retryRun'; fence: Fence; id: string; nowMs: number }
  | { kind: 'batch'; fence: Fence; records: RecordOperation[]; tasks: TaskCommand[]; nowMs: number }
  | { kind: 'claimPushes'; taskId: number; limit: number; nowMs: number }
  | ({ kind: 'expireLeases' } & ExpireStep)
  | ({ kind: 'fireSchedules' } & FireStep)
  | { kind: 'sweepRuns'; seqs: number[]; before: number }

type MaintenanceCommand =
  | { kind: 'sweepExpired'; nowMs: number; rowsMax: number }
  | { kind: 'purgeTables'; nowMs: number; rowsMax: number }
  | { kind: 'purgeOrganizations'; nowMs: number; rowsMax: number }
  | { kind: 'addChecksums'; rowsMax: number; skipped?: DamagedRows }
  | ({ kind: 'vacuum' } & VacuumStep)

type TransferCommand = { kind: 'load'; rows: LoadRows } | { kind: 'loadSecrets'; secrets: string }

export type Command =
  | WriteCommand
  | RegistryCommand
  | FileCommand
  | TaskCommands
  | RunCommand
  | MaintenanceCommand
  | TransferCommand

/**
 * Whether a registry cache may be wrong after this command. Only these commands move the registry's epoch. What is
 * missing is never cached, so a command that only adds leaves every cache correct.
 */
export const makesCachesStale = ({ kind }: Command): boolean =>
  kind === 'deleteTable' ||
  kind === 'deleteTask' ||
  kind === 'revokeApiKey' ||
  kind === 'deleteOrganization' ||
  kind === 'rotateSecrets' ||
  kind === 'loadSecrets'

export interface CommandResults {
  write: WriteResult
  createTable: { table: Table; created: boolean }
  deleteTable: Table | undefined
  restoreTable: RestoreResult
  createApiKey: ApiKey
  revokeApiKey: ApiKey | undefined
  recordKeyUse: undefined
  createOrganization: Organization | undefined
  deleteOrganization: DeleteOrganizationResult | undefined
  restoreOrganization: RestoreOrganizationResult | undefined
  rotateSecrets: string
  load: undefined
  beginBlob: undefined
  keepBlobs: undefined
  commitFile: FileWriteResult
  abandonBlob: undefined
  changeFile: FileChangeResult
  removeFile: FileWriteResult
  takeDueBlobs: string[]
  forgetBlobs: undefined
  holdBlobs: undefined
  adoptBlobs: number
  writeFileMark: string
  declareTask: DeclareResult
  deleteTask: DeleteTaskResult | undefined
  restoreTask: RestoreResult
  addTaskSecret: undefined
  addRun: AddResult
  claimRuns: Run[]
  extendRun: RunChange
  finishRun: RunChange
  cancelRun: RunChange
  retryRun: RunChange
  batch: BatchResult
  /** Undefined if the task was deleted. */
  claimPushes: Pushes | undefined
  expireLeases: RunReference[]
  fireSchedules: Omit<FiredSchedules, 'due'>
  sweepRuns: number
  sweepExpired: number
  purgeTables: number
  purgeOrganizations: number
  addChecksums: number
  vacuum: Space | undefined
  loadSecrets: undefined
}

export interface CommandFailure {
  code: ErrorCode
  message: string
  hint?: Hint
  /** For the log, never for the caller. */
  cause?: string
}

export type Outcome = { value: unknown } | { failure: CommandFailure }

// Between threads a group of commands is one string, and so are its outcomes: a string is passed without a copy of each
// member, which an object needs. The numbers come first, as a line of JSON. The texts follow, one after the other; their
// lengths are among the numbers.

type Numbers = (number | null)[]

const entryCount = 2 * slots.length

const conditionCode = (condition: Condition | undefined): number =>
  condition === undefined ? 0 : condition === 'exists' ? 1 : condition === 'absent' ? 2 : 3

const decodeCondition = (code: number, version: number): Condition | undefined =>
  code === 0 ? undefined : code === 1 ? 'exists' : code === 2 ? 'absent' : { version }

/** Instead of the number of operations: the command is JSON. */
const otherCommand = -1
/** The same, followed by the bytes of a file, which JSON would escape. */
const commandWithBytes = -2

export const encodeGroup = (commands: Command[]): string => {
  const numbers: Numbers = []
  let texts = ''
  const push = (text: string | null): void => {
    numbers.push(text === null ? null : text.length)
    if (text !== null) texts += text
  }
  for (const command of commands) {
    if (command.kind === 'commitFile' && command.bytes !== undefined) {
      const { bytes, ...others } = command
      numbers.push(commandWithBytes)
      push(JSON.stringify(others))
      push(bytes)
      continue
    }
    if (command.kind !== 'write') {
      numbers.push(otherCommand)
      push(JSON.stringify(command))
      continue
    }
    const { fence, operations } = command
    numbers.push(operations.length, fence.stamp, fence.keySeq, fence.tableId, command.nowMs)
    for (const operation of operations) {
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
  const commands: Command[] = []
  while (at < numbers.length) {
    const count = next()
    if (count === otherCommand) {
      commands.push(JSON.parse(nextText()!) as Command)
      continue
    }
    if (count === commandWithBytes) {
      const command = JSON.parse(nextText()!) as CommitFileCommand
      commands.push({ ...command, bytes: nextText()! })
      continue
    }
    const fence = { stamp: next(), keySeq: numbers[at++]!, tableId: numbers[at++]! }
    const nowMs = next()
    const operations: RecordOperation[] = []
    for (let i = 0; i < count; i++) operations.push(nextOperation())
    commands.push({ kind: 'write', fence, nowMs, operations })
  }
  return commands
}

export const encodeOutcomes = (outcomes: Outcome[]): string => JSON.stringify(outcomes)

/** JSON has no undefined: it becomes `{}`. */
export const decodeOutcomes = (text: string): Outcome[] =>
  (JSON.parse(text) as Outcome[]).map((outcome) => ('failure' in outcome ? outcome : { value: outcome.value }))
