import type { Awaitable } from '../../core/awaitable.ts'
import type { Members } from '../../core/members.ts'
import type { ResponseRoom, RunSlices } from '../../core/slices.ts'
import type { Access } from '../../operations/access.ts'
import type { Waiting } from '../../operations/runs/waiting.ts'

/** The part of JSON Schema that tools use. */
export type ToolSchema = Readonly<Record<string, unknown>>

/** One call of a tool. `Waiting` is for tools that wait for a run. */
export interface ToolCall extends Waiting, ResponseRoom {
  readonly access: Access
  readonly nowMs: number
  /** The arguments as JSON text, with `db`. Text, because the data of a record is stored as it was sent. */
  readonly text: string
  /** The same as values; undefined if that would lose something, as the text of a number. */
  readonly built: Members | undefined
  /** The address at which the caller reached the server, without a slash at its end. */
  readonly baseUrl: string
  /** Runs long work in parts. */
  readonly runSlices: RunSlices
}

export interface Tool {
  readonly name: string
  /** Tells the model that chooses what the tool does, and what it must know before. */
  readonly description: string
  readonly keyNeeded: 'read' | 'write'
  /** Hints that a client may show before it calls. A tool that only reads is not destructive and may be repeated. */
  readonly hints?: { readonly destructive?: true; readonly idempotent?: true }
  /** The properties of the arguments. `db` is first in every one of them. */
  readonly properties: Readonly<Record<string, ToolSchema>>
  readonly required: readonly string[]
  readonly output: ToolSchema
  /** It refuses unknown arguments itself, with better hints. Those of the other tools are refused before `run`. */
  readonly refusesUnknown?: true
  /** The limit of the arguments as JSON. Default: the limit of a body without a record, because they are read at once. */
  readonly argumentsBytesMax?: number
  /** The answer as JSON text of at most `toolResponseBytesMax` bytes: an object that `output` describes. */
  run(call: ToolCall): Awaitable<string>
}
