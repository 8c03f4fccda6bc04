import { entryKind } from '../../../core/changes/log-entry.ts'
import { changesLookedAtMax } from '../../../core/limits.ts'
import type { Statement } from '../connection/driver.ts'

// The log of a table has its entries in `cubby_change` and its counter, the number of the newest entry, in `cubby_feed`. Whoever
// adds entries holds the lock of the counter until the commit, so entries are committed in the order of their numbers. A table
// that tasks follow has a counter too: its lock keeps the writes that add runs apart.

// ── Writes ─────────────────────────────────────────────────────────────────────────────────────────────────

/** $1 table. No row: its writes were never counted. */
export const lockFeed: Statement = {
  name: 'feed_lock',
  text: 'select f.seq from cubby_feed f where f.table_id = $1::bigint for update',
}

/** Reads what the writes of table $1 bring along: whether they add to its log, and for whom they add runs. */
export const readCounted: Statement = {
  name: 'feed_read_counted',
  text: 'select t.keep_hours is not null, t.db, t.name, t.followers from cubby_table_8 t where t.id = $1::bigint',
}

/** Reads the time of the newest entry of table $1, whether it keeps changes now or not. */
export const newestTime: Statement = {
  name: 'feed_newest_time',
  text: 'select c.at_ms from cubby_change c where c.table_id = $1::bigint order by c.seq desc limit 1',
}

export const addFeed: Statement = {
  name: 'feed_add',
  text: 'insert into cubby_feed (table_id, seq) values ($1::bigint, 0) on conflict do nothing',
}

/** $1 table, $2 the newest number. */
export const moveFeed: Statement = {
  name: 'feed_move',
  text: 'update cubby_feed as f set seq = $2::bigint where f.table_id = $1::bigint',
}

const types = ['bigint', 'bigint', 'bigint', 'bytea', 'bytea', 'bigint']
export const entryColumns = ['seq', 'at_ms', 'kind', 'hash_key', 'range_key', 'version']
const insert = `insert into cubby_change (table_id, ${entryColumns.join(', ')})`

/** $1 table, then an array for each column of an entry. */
export const addEntries: Statement = {
  name: 'change_add',
  text: `${insert} select $1::bigint, v.*
    from unnest(${types.map((type, i) => `$${i + 2}::${type}[]`).join(', ')}) as v`,
}

/** The same for so many rows: $1 table, then the values of each. */
export const addEntryRows = (count: number): Statement => {
  const row = (_: unknown, i: number): string =>
    `($1::bigint, ${types.map((type, column) => `$${2 + i * types.length + column}::${type}`).join(', ')})`
  return {
    name: `change_add_rows_${count}`,
    text: `${insert} values ${Array.from({ length: count }, row).join(', ')}`,
  }
}

/** Removes the entries of table $1 with numbers below $2. */
export const removeEntries: Statement = {
  name: 'change_remove',
  text: 'delete from cubby_change as c where c.table_id = $1::bigint and c.seq < $2::bigint',
}

/** Removes the $2 oldest entries of table $1. */
export const removeOldest: Statement = {
  name: 'change_remove_oldest',
  text: `delete from cubby_change as c using (
      select e.seq from cubby_change e where e.table_id = $1::bigint order by e.seq limit $2::bigint
    ) as x where c.table_id = $1::bigint and c.seq = x.seq`,
}

export const removeFeed: Statement = {
  name: 'feed_remove',
  text: 'delete from cubby_feed as f where f.table_id = $1::bigint',
}

// ── Reads ──────────────────────────────────────────────────────────────────────────────────────────────────

const columnsOf = (alias: string): string => entryColumns.map((column) => `${alias}.${column}`).join(', ')

const newestOf = (alias: string, bound = ''): string =>
  `select ${columnsOf(alias)} from cubby_change ${alias} where ${alias}.table_id = $1::bigint${bound}
    order by ${alias}.seq desc limit 1`

export const newestEntry: Statement = { name: 'change_newest', text: newestOf('c') }

/** The rows of `readChanges` begin with one of these. */
export const part = { after: '0', seen: '1', head: '2', last: '3', change: '4' }

/**
 * Reads a page with one statement, so all of it is from one snapshot: the entries after $2, at $3, the newest one and the last one
 * that is looked at; then those that tell of a change, with the ttl and data of the record and the bytes so far. $4 changes wanted,
 * $5 bytes wanted, $6 the hash key.
 */
export const readChanges = (withData: boolean, withHash: boolean): Statement => {
  const place = (name: string, from: string): string =>
    `select ${name}, e.*, null::bigint as ttl_seconds, null::text as data, 0::numeric as bytes from (${from}) as e`
  const at = (alias: string, parameter: string): string =>
    `select ${columnsOf(alias)} from cubby_change ${alias} where ${alias}.table_id = $1::bigint and ${alias}.seq = ${parameter}::bigint`
  const lookedAt = `
    select ${columnsOf('c')} from cubby_change c where c.table_id = $1::bigint and c.seq > $2::bigint
      and c.seq <= $2::bigint + ${changesLookedAtMax}${withHash ? ' and c.hash_key = $6::bytea' : ''} order by c.seq`
  // The limit forces one index seek for each entry, whatever the planner knows.
  const record = `
    select r.ttl_seconds, ${withData ? 'r.data' : 'null::text as data'} from cubby_record_8 r
    where r.table_id = $1::bigint and r.hash_key = l.hash_key and r.range_key = l.range_key
      and l.kind = ${entryKind.put} and r.updated_at - l.version = 0 limit 1`
  const told = `
    select ${columnsOf('l')}, o.ttl_seconds, o.data, coalesce(octet_length(o.data), 0) as size
    from (${lookedAt}) as l left join lateral (select true as present, x.* from (${record}) as x) as o on true
    where l.kind > ${entryKind.put} or o.present order by l.seq limit $4::bigint`
  return {
    name: `changes${withData ? '' : '_keys'}${withHash ? '_of_hash' : ''}`,
    text: `
      ${place(part.after, at('a', '$2'))} union all ${place(part.seen, at('s', '$3'))}
      union all ${place(part.head, newestOf('h'))}
      union all ${place(part.last, newestOf('t', ` and t.seq <= $2::bigint + ${changesLookedAtMax}`))}
      union all select ${part.change}, ${columnsOf('p')}, p.ttl_seconds, p.data, p.bytes from (
        select w.*, sum(w.size) over (order by w.seq rows unbounded preceding) as bytes from (${told}) as w
      ) as p where p.bytes - p.size < $5::bigint`,
  }
}

/** Reads the newest numbers of the tables in $1. */
export const newestNumbers: Statement = {
  name: 'feeds',
  text: 'select f.table_id, f.seq from cubby_feed f where f.table_id = any ($1::bigint[])',
}

export const newestNumber: Statement = {
  name: 'feed',
  text: 'select f.table_id, f.seq from cubby_feed f where f.table_id = $1::bigint',
}

/** The first entry and the newest one of a log. */
export const endsOfLog: Statement = {
  name: 'change_ends',
  text: `select c.seq, c.at_ms from cubby_change c where c.table_id = $1::bigint and c.seq in (
      (select min(f.seq) from cubby_change f where f.table_id = $1::bigint),
      (select max(n.seq) from cubby_change n where n.table_id = $1::bigint)) order by c.seq`,
}

export const timeOfEntry: Statement = {
  name: 'change_time',
  text: 'select c.at_ms from cubby_change c where c.table_id = $1::bigint and c.seq = $2::bigint',
}

/** The first entry of table $1 from $2 on and before $3 whose time is after $4, and $5 at the latest. */
export const firstEntryBetween: Statement = {
  name: 'change_first_between',
  text: `select c.seq from cubby_change c where c.table_id = $1::bigint and c.seq >= $2::bigint and c.seq < $3::bigint
      and c.at_ms > $4::bigint and c.at_ms <= $5::bigint order by c.seq limit 1`,
}

/** The first table after $1 that has or had a log. */
export const nextLog: Statement = {
  name: 'next_log',
  text: `select t.id, t.keep_hours from cubby_table_8 t where t.id > $1::bigint and t.changes_since is not null
    order by t.id limit 1`,
}
