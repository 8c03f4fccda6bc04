import type { Dialect, ServerFacts } from './dialect.ts'

/**
 * Citus: records are spread over the workers by their table, the registry is on every node. So all that concerns
 * one table is on one worker, and every statement goes to one of them. Found by its extension, not configured.
 */
export const citus = (facts: ServerFacts, base: Dialect): Dialect | undefined => {
  if (facts.citus === undefined) return undefined
  return {
    ...base,
    description: `citus ${facts.citus} on ${base.description}`,
    afterSchema: [
      ...['cubby_store', 'cubby_organizations', 'cubby_api_keys', 'cubby_tables'].map(
        (table) => `select create_reference_table('${table}')`,
      ),
      `select create_distributed_table('cubby_records', 'table_id')`,
    ],
    // A worker is sent BEGIN only if the coordinator was.
    pipelinesAreTransactions: false,
    // INSERT … SELECT would go through the coordinator row by row; plain VALUES go straight to the worker.
    // Without the guard a write is kept from a revoked key by the lease alone.
    guardsWrites: false,
    putsFromArrays: false,
    // A DELETE whose rows another query picks across shards is refused.
    sweepsInOneStatement: false,
  }
}
