import type { Awaitable } from '../core/awaitable.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { Access } from './access.ts'

/** A folder in `operations`, and in every other layer that has code for this area. */
export type Area =
  | 'organizations'
  | 'api-keys'
  | 'tables'
  | 'records'
  | 'items'
  | 'buckets'
  | 'files'
  | 'tasks'
  | 'runs'

/** What the API key must allow. `operator`: no API key is enough; the caller needs the store itself. */
export type KeyNeeded = 'read' | 'write' | 'manage-keys' | 'operator'

/** The effect on the store. `destroys`: existing data is removed, or something stops working. */
export type Effect = 'reads' | 'writes' | 'destroys'

/**
 * One thing that the service can do, independent of the caller and the transport. It is described once, beside its code;
 * HTTP routes, the OpenAPI document and the shell commands are adapters. Its schemas and examples are in the catalogue,
 * because no request needs them.
 */
export interface Operation<Id extends string, Input, Output> {
  readonly id: Id
  readonly area: Area
  readonly summary: string
  /** Markdown that does not mention the transport. */
  readonly description: string
  readonly keyNeeded: KeyNeeded
  readonly effect: Effect
  /** The output in a few words. */
  readonly returns: string
  /** The error codes that do not follow from its input, key and effect: see `codesOf`. */
  readonly codes: readonly ErrorCode[]
  /** Parses the JSON text of the whole input. Text, because the `data` of a record is stored exactly as it was sent. */
  parse(text: string, nowMs: number): Input
  run(access: Access, input: Input, nowMs: number): Awaitable<Output>
  /** The output as JSON text. */
  present(output: Output, nowMs: number): string
}

/** Any operation, for adapters that treat all alike: `run` gets the result of `parse`, and `present` that of `run`. */
// biome-ignore lint/suspicious/noExplicitAny: `unknown` would reject every operation with its own input type.
export type AnyOperation = Operation<string, any, any>

export const defineOperation = <const Id extends string, Input, Output>(
  operation: Operation<Id, Input, Output>,
): Operation<Id, Input, Output> => operation
