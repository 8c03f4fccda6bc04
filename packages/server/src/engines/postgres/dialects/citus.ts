import type { Dialect, ServerFacts } from './dialect.ts'

/**
 * Citus distributes records and blobs over the workers by table id, and runs by the id of their task; the registry, with the
 * declarations of tasks, stays on the coordinator. All records of
 * one table are on one worker, and a statement that names one table goes to that worker only. Such a statement cannot also
 * name a table of the registry. test/engine-postgres-citus.test.ts checks every statement for this.
 *
 * Citus is detected by its extension, not configured.
 */
export const citus = (facts: ServerFacts, base: Dialect): Dialect | undefined => {
  if (facts.citus === undefined) return undefined
  return {
    ...base,
    description: `citus ${facts.citus} on ${base.description}`,
    // The registry is in plain tables: with reference tables, Citus rejects an INSERT of ours that returns a subquery.
    afterSchema: [
      `select create_distributed_table('cubby_record', 'table_id')`,
      // Beside the records: a file and its blob are written in one transaction, on one worker.
      `select create_distributed_table('cubby_blob', 'table_id', colocate_with => 'cubby_record')`,
      `select create_distributed_table('cubby_run', 'task_id')`,
    ],
    distributesRecords: true,
    // Only the values tell which worker a statement goes to: Citus rejects a generic plan.
    planning: base.planning.map((setting) => setting.replace('force_generic_plan', 'force_custom_plan')),
    // The coordinator sends BEGIN to a worker only if it got one itself.
    pipelinesAreTransactions: false,
    // A write cannot read the registry, which is on the coordinator, and INSERT … SELECT would go through the
    // coordinator row by row. Plain VALUES go straight to the worker. Without the guard, only the lease keeps a revoked
    // key out.
    guardsWrites: false,
    putsFromArrays: false,
    namesManyTables: false,
  }
}
