import { pageRowsMax } from '../../../../server/src/core/limits.ts'
import { pathOf, read } from '../../api/request.ts'
import { recentTables } from '../../state/recent-tables.ts'
import type { DeletedThing } from '../../ui/deleted.tsx'

// Deleted things of several databases that can be restored.

const kinds = { table: '', bucket: '_buckets', task: '_tasks' } as const
type Kind = keyof typeof kinds

interface Restorable extends DeletedThing {
  kind: Kind
  path: string
  db: string
}

interface Found {
  deletedAt: number
  recoverableUntil: number
  table?: string
  bucket?: string
  task?: string
}

const pathIn = (db: string, kind: Kind, ...rest: string[]): string =>
  pathOf('v1', db, ...(kinds[kind] === '' ? [] : [kinds[kind]]), ...rest)

const readDeleted = async (db: string, kind: Kind, signal: AbortSignal): Promise<Restorable[]> => {
  const query = `?deleted=true&limit=${pageRowsMax}`
  const list = await read<Record<string, Found[]>>('GET', pathIn(db, kind) + query, { signal })
  return (list[`${kind}s`] ?? []).map((each) => {
    const name = each[kind]!
    return { ...each, kind, db, name: `${db} / ${name}`, path: pathIn(db, kind, name) }
  })
}

/**
 * Deleted things, the newest first. A database in which everything was deleted is not listed, so the databases of the tables
 * that were used last are asked too, though this key may not see them.
 */
export const readRestorable = async (databases: readonly string[], signal: AbortSignal): Promise<Restorable[]> => {
  const names = Object.keys(kinds) as Kind[]
  const others = new Set(recentTables().flatMap(({ db }) => (databases.includes(db) ? [] : [db])))
  const all = [
    ...databases.flatMap((db) => names.map((kind) => readDeleted(db, kind, signal))),
    ...[...others].flatMap((db) => names.map((kind) => readDeleted(db, kind, signal).catch(() => []))),
  ]
  return (await Promise.all(all)).flat().sort((a, b) => b.deletedAt - a.deletedAt)
}

export const restoreThing = ({ path, deletedAt }: Restorable): Promise<unknown> =>
  read('POST', `${path}/restore`, { body: JSON.stringify({ deletedAt }) })
