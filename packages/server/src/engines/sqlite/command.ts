import type { NewApiKey } from '../../core/api-key.ts'
import type {
  ApiKey,
  Condition,
  DeleteOperation,
  KeyUse,
  LoadRows,
  Organization,
  PutOperation,
  RecordOperation,
  RestoreResult,
  Table,
  WriteResult,
} from '../../core/engine.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { Indices } from '../../core/indices.ts'

/**
 * What the caller relied on when it asked for a write: the registry as of `stamp`. If the registry has moved
 * since, the writer looks the key and the table up again before it writes.
 */
export interface Fence {
  stamp: number
  keySeq: number | null
  tableId: number | null
}

export interface WriteCommand {
  kind: 'write'
  fence: Fence
  nowMs: number
  operations: RecordOperation[]
}

interface Named {
  fence: Fence
  nowMs: number
  orgId: number
  db: string
  name: string
}

export type RegistryCommand =
  | (Named & { kind: 'createTable'; indices: Indices })
  | (Named & { kind: 'deleteTable' })
  | (Named & { kind: 'restoreTable'; deletedAtMs: number | undefined })
  | { kind: 'createApiKey'; fence: Fence; nowMs: number; orgId: number; key: NewApiKey }
  | { kind: 'revokeApiKey'; fence: Fence; nowMs: number; orgId: number; id: string }
  | { kind: 'recordKeyUse'; uses: KeyUse[] }
  | { kind: 'createOrganization'; nowMs: number; name: string; keys: NewApiKey[]; onlyIfFirst: boolean }
  | { kind: 'load'; rows: LoadRows }
  | { kind: 'sweepExpired'; nowMs: number; rowsMax: number }
  | { kind: 'purgeTables'; nowMs: number; rowsMax: number }

export type Command = WriteCommand | RegistryCommand

export interface CommandResults {
  write: WriteResult
  createTable: { table: Table; created: boolean }
  deleteTable: Table | undefined
  restoreTable: RestoreResult
  createApiKey: ApiKey
  revokeApiKey: ApiKey | undefined
  recordKeyUse: undefined
  createOrganization: Organization | undefined
  load: undefined
  sweepExpired: number
  purgeTables: number
}

export interface CommandFailure {
  code: ErrorCode
  message: string
  hint?: string
  /** For the log, never for the caller. */
  cause?: string
}

export type Outcome = { value: unknown } | { failure: CommandFailure }

// A group of commands crosses to the writer's thread as one flat array of primitives: cloning 64 puts that way
// costs a third of cloning them as objects.

type Primitive = string | number | null

const conditionCode = (condition: Condition | undefined): number =>
  condition === undefined ? 0 : condition === 'exists' ? 1 : condition === 'absent' ? 2 : 3

const decodeCondition = (code: number, version: number): Condition | undefined =>
  code === 0 ? undefined : code === 1 ? 'exists' : code === 2 ? 'absent' : { version }

export const encodeGroup = (commands: Command[]): Primitive[] => {
  const flat: Primitive[] = []
  for (const command of commands) {
    if (command.kind !== 'write') {
      flat.push(-1, JSON.stringify(command))
      continue
    }
    const { fence, operations } = command
    flat.push(operations.length, fence.stamp, fence.keySeq, fence.tableId, command.nowMs)
    for (const operation of operations) {
      const condition = operation.condition
      const version = typeof condition === 'object' ? condition.version : 0
      flat.push(operation.hashKey, operation.rangeKey, conditionCode(condition), version)
      if (operation.op === 'delete') {
        flat.push(null)
      } else {
        const e = operation.entries
        flat.push(operation.data, operation.ttlSeconds, operation.updatedAtMs ?? null)
        flat.push(e[0]!, e[1]!, e[2]!, e[3]!, e[4]!, e[5]!, e[6]!, e[7]!, e[8]!, e[9]!)
      }
    }
  }
  return flat
}

export const decodeGroup = (flat: Primitive[]): Command[] => {
  const commands: Command[] = []
  let at = 0
  while (at < flat.length) {
    const count = flat[at] as number
    if (count < 0) {
      commands.push(JSON.parse(flat[at + 1] as string) as RegistryCommand)
      at += 2
      continue
    }
    const fence = {
      stamp: flat[at + 1] as number,
      keySeq: flat[at + 2] as number | null,
      tableId: flat[at + 3] as number,
    }
    const nowMs = flat[at + 4] as number
    at += 5
    const operations: RecordOperation[] = []
    for (let i = 0; i < count; i++) {
      const hashKey = flat[at] as string
      const rangeKey = flat[at + 1] as string
      const condition = decodeCondition(flat[at + 2] as number, flat[at + 3] as number)
      const data = flat[at + 4] as string | null
      if (data === null) {
        operations.push({ op: 'delete', hashKey, rangeKey, condition } satisfies DeleteOperation)
        at += 5
      } else {
        const ttlSeconds = flat[at + 5] as number | null
        const updatedAtMs = (flat[at + 6] as number | null) ?? undefined
        const entries = flat.slice(at + 7, at + 17) as (string | null)[]
        const put: PutOperation = { op: 'put', hashKey, rangeKey, condition, data, ttlSeconds, entries, updatedAtMs }
        operations.push(put)
        at += 17
      }
    }
    commands.push({ kind: 'write', fence, nowMs, operations })
  }
  return commands
}
