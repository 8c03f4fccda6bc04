import type { Awaitable } from '../core/awaitable.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { Access } from './access.ts'

/** A folder of `operations`, and of every layer that has something to do for it. */
export type Area = 'organizations' | 'api-keys' | 'tables' | 'records'

/** What the API key must allow. `operator`: no API key does; it takes the store itself. */
export type KeyNeeded = 'read' | 'write' | 'manage-keys' | 'operator'

/** What it does to the store. `destroys`: something that was there is gone or no longer works. */
export type Effect = 'reads' | 'writes' | 'destroys'

/**
 * What the service does when it is asked to, whoever asks and over whatever. It is described once, beside its code; HTTP
 * routes, the OpenAPI document and the commands of the shell are adapters. Its schemas and examples, which no request
 * needs, are in the catalogue.
 */
export interface Operation<Id extends string, Input, Output> {
  readonly id: Id
  readonly area: Area
  readonly summary: string
  /** Markdown, and no word of how the request comes. */
  readonly description: string
  readonly keyNeeded: KeyNeeded
  readonly effect: Effect
  /** What is returned, in a few words. */
  readonly returns: string
  /** Error codes of its own, beside those that follow from its input, key and effect: see `codesOf`. */
  readonly codes: readonly ErrorCode[]
  /** From the JSON text of the whole input. As text, because the `data` of a record is stored as it was sent. */
  parse(text: string, nowMs: number): Input
  run(access: Access, input: Input, nowMs: number): Awaitable<Output>
  /** The output as JSON text. */
  present(output: Output, nowMs: number): string
}

/** Any of them, for adapters that treat all alike: they give `run` what `parse` returned and `present` what `run` returned. */
// biome-ignore lint/suspicious/noExplicitAny: `unknown` would refuse every operation with an input of its own.
export type AnyOperation = Operation<string, any, any>

export const defineOperation = <const Id extends string, Input, Output>(
  operation: Operation<Id, Input, Output>,
): Operation<Id, Input, Output> => operation
