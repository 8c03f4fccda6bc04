import type { Dialect, ServerFacts } from './dialect.ts'

/**
 * Citus: records are spread over the workers by their table, the registry stays on the coordinator. So all that concerns
 * one table is on one worker, and a statement on records names one table: only then it goes to one worker. It cannot
 * name a table of the registry too. test/engine-postgres-citus.test.ts holds every statement to that.
 *
 * Found by its extension, not configured.
 */
export const citus = (facts: ServerFacts, base: Dialect): Dialect | undefined => {
  if (facts.citus === undefined) return undefined
  return {
    ...base,
    description: `citus ${facts.citus} on ${base.description}`,
    // Plain tables, not reference tables: with those, an INSERT of ours that returns a subquery is refused.
    afterSchema: [`select create_distributed_table('cubby_records', 'table_id')`],
    // Which worker a statement goes to is known only with its values: a generic plan cannot say, and is refused.
    planning: base.planning.map((setting) => setting.replace('force_generic_plan', 'force_custom_plan')),
    // A worker is sent BEGIN only if the coordinator was.
    pipelinesAreTransactions: false,
    // A write cannot look at the registry, which is elsewhere, and INSERT … SELECT would go through the coordinator row
    // by row; plain VALUES go straight to the worker. Without the guard a revoked key is kept out by the lease alone.
    guardsWrites: false,
    putsFromArrays: false,
    namesManyTables: false,
  }
}
