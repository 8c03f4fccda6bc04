import type { Awaitable } from '../core/awaitable.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { Members } from '../core/members.ts'
import type { Access } from './access.ts'
import type { Example } from './example.ts'
import type { GrantRule } from './grant-rules.ts'
import { type Body, type InputRules, parseInput } from './parse-input.ts'
import type { Schema } from './schema.ts'
import type { SchemaName } from './schemas.ts'

/** A folder in `operations`, and in every other layer that has code for this area. */
export type Area =
  | 'organizations'
  | 'api-keys'
  | 'tokens'
  | 'tables'
  | 'records'
  | 'items'
  | 'changes'
  | 'buckets'
  | 'files'
  | 'tasks'
  | 'runs'

/** The permission that the API key must have. `operator`: no API key is enough; the caller needs the store itself. */
export type KeyNeeded = 'read' | 'write' | 'manage-keys' | 'operator'

/** The effect on the store. `destroys`: existing data is removed, or something stops working. */
type Effect = 'reads' | 'writes' | 'destroys'

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/**
 * Says where the members of the input are in an HTTP request: in the path (those that it names), in the query string (those in
 * `query`) or in the body (all others, or the one that is the whole body). `ifUpdatedAt` is a condition.
 */
export interface Route {
  readonly method: Method
  /** A last parameter with `?` may be absent. */
  readonly path: string
  readonly query?: readonly string[]
  /** Sent with every request: without it, the answer of this route is another than the operation's. */
  readonly queryAlways?: Readonly<Record<string, string | boolean>>
  /** The member of the input that is the body as it is: bytes, not JSON. */
  readonly bytes?: string
  /** The content type of those bytes, if it is always the same. Without it they are a file. */
  readonly bytesType?: 'application/x-ndjson'
  readonly body?: {
    /** The name of its schema. */
    readonly schema: SchemaName
    /** Absent: the body may be empty. */
    readonly required?: true
    /** Default: that of a body without a record. */
    readonly bytesMax?: number
    /** The member that the whole body is. Absent: the body is an object with the members that are nowhere else. */
    readonly member?: string
  }
}

/** The call of our client that does the same as an operation. Samples show it with the input of an example. */
export interface ClientCall {
  /**
   * The object that has the method: a `db`, `table`, `bucket` or `task` that the input names, or one whose methods take that
   * name.
   */
  readonly on:
    | 'cubby'
    | 'db'
    | 'keys'
    | 'tokens'
    | 'issuers'
    | 'tables'
    | 'table'
    | 'buckets'
    | 'bucket'
    | 'tasks'
    | 'task'
  readonly method: string
  /** The name of what it returns. */
  readonly result: string
  /** The method is `count` with `select: 'count'`; it takes the same without `select`. */
  readonly counts?: true
  /**
   * Its arguments after the name. `members`: the input without the condition and the names of the database and the object.
   * `options`: the condition, and whether the answer has no data. Empty objects at the end are left out. Default: both.
   * Undefined: the method cannot be called with this.
   */
  args?(members: Members, options: Members): unknown[] | undefined
}

/**
 * Describes an operation to a program or a person who calls it. No request needs it, so it is made only for those who describe.
 */
export interface Description {
  /** Names it in the contents of the reference, where it has one line. Default: its summary. */
  readonly title?: string
  /** Markdown that does not mention the transport. */
  readonly description: string
  /** The output in a few words. */
  readonly returns: string
  /** The error codes that do not follow from its input, key and effect: see `codesOf`. */
  readonly codes: readonly ErrorCode[]
  /** Appended to the description in the reference of the HTTP API. */
  readonly note?: string
  /** The chapter of the reference, if it is not that of the area. */
  readonly tag?: string
  /** The output in a few words, if the operation has created something, and if that was there before. */
  readonly responses?: { readonly created: string; readonly existing?: string }
  /** The output for a caller that wants no data. Absent: it gets nothing but the version. */
  readonly minimalOutput?: Schema
  /** The output of a request that was applied before under its idempotency key, if it is another one. */
  readonly replayedOutput?: Schema
  /** The schema of the whole input, an object. */
  readonly input: Schema
  readonly output: Schema
  /** Absent: our client has no method for it. */
  readonly client?: ClientCall
  readonly examples: readonly Example[]
}

/**
 * One thing that the service can do, independent of the caller and the transport. It is described once, beside its code:
 * HTTP routes, the OpenAPI document, shell commands and tools for agents are adapters that read this description.
 */
interface Operation<Id extends string, Input, Output> extends InputRules {
  readonly id: Id
  readonly area: Area
  readonly summary: string
  readonly keyNeeded: KeyNeeded
  /** What a user token must be granted. `any`: nothing; `none`: no token is enough. */
  readonly grants: GrantRule<NoInfer<Input>> | 'any' | 'none'
  readonly effect: Effect
  /** Absent: only operators call it. */
  readonly route?: Route
  /** The shell command, for hints. A word in brackets is used only if its member is given. */
  readonly command?: string
  /** The name of the tool for agents that does it. */
  readonly tool?: string
  /** What an idempotency key of a request belongs to. Absent: the operation takes none. */
  readonly idempotencyScope?: 'table' | 'task' | 'database' | 'organization'
  /** Callers may ask for an answer without data. */
  readonly respondsMinimal?: true
  /** The version of what it returns. */
  version?(output: Output): number
  /** Checks the members that the path does not name, without the condition. Absent: there are none. */
  read?(body: Body, nowMs: number): Partial<NoInfer<Input>>
  /** Parses the JSON text of the whole input. Text, because the `data` of a record is stored exactly as it was sent. */
  parse(text: string, nowMs: number): Input
  run(access: Access, input: Input, nowMs: number): Awaitable<Output>
  /** The output as JSON text. `baseUrl`: the address at which the caller reached the server, made when it is asked for. */
  present(output: Output, nowMs: number, caller?: { readonly baseUrl: string }): string
  describe(): Description
}

/** Any operation, for adapters that treat all alike: `run` gets the result of `parse`, and `present` that of `run`. */
// biome-ignore lint/suspicious/noExplicitAny: `unknown` would reject every operation with its own input type.
export type AnyOperation = Operation<string, any, any>

/** Defines an operation. Without `parse`, the input is what the path names, what `read` checks, and the condition. */
export const defineOperation = <const Id extends string, Input, Output>(
  described: Omit<Operation<Id, Input, Output>, 'parse'> & Partial<Pick<Operation<Id, Input, Output>, 'parse'>>,
): Operation<Id, Input, Output> => {
  const operation: Operation<Id, Input, Output> = {
    parse: (text, nowMs) => parseInput(operation, text, nowMs) as Input,
    ...described,
  }
  return operation
}
