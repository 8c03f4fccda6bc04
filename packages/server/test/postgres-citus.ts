import type { SharedPostgres } from './postgres-server.ts'

/** A database that says of itself that it is Citus, so far as Cubby asks. */
export const createCitus = async (server: SharedPostgres): Promise<string> => {
  const made = await server.createDatabase()
  await server.query(
    `set allow_system_table_mods = on;
     insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
       select 4000000, 'citus', oid, 'pg_catalog'::regnamespace, false, '13.2-1' from pg_roles where rolname = current_user;
     create function create_distributed_table(text, text, colocate_with text default 'default') returns void
       language sql as 'select'`,
    made,
  )
  return made
}
