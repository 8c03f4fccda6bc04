import type { Example } from './example.ts'
import type { AnyOperation } from './operation.ts'
import type { Schema } from './schema.ts'

/** An operation with its schemas and examples: what a program or a person needs to call it. */
export interface CatalogueEntry extends AnyOperation {
  /** The schema of the whole input, an object. */
  readonly input: Schema
  readonly output: Schema
  readonly examples: readonly Example[]
}

export const entry = <const Id extends string>(
  operation: AnyOperation & { id: Id },
  described: Pick<CatalogueEntry, 'input' | 'output' | 'examples'>,
): CatalogueEntry & { readonly id: Id } => ({ ...operation, ...described })
