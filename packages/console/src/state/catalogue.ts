import { computed, signal } from '@preact/signals'
import { pageRowsMax } from '../../../server/src/core/limits.ts'
import { connection, pathOf, read } from '../api/request.ts'
import type {
  BucketMetadata,
  ListBucketsResponse,
  ListDatabasesResponse,
  ListTablesResponse,
  TableMetadata,
  TaskRow,
} from '../api/types.ts'
import { readTasks, runCounts } from './run-counts.ts'
import { canWrite } from './session.ts'

// The databases with what is in them, for the rail and the first screens.

/** The databases that are read at once. The others are read when the reader asks. */
export const openedDatabasesMax = 8

export interface Contents {
  tables: TableMetadata[]
  buckets: BucketMetadata[]
  /** The list is empty for a public key, which may not read it. */
  tasks: TaskRow[]
  /** A list had more than a page. */
  isCut: boolean
}

interface Catalogue {
  databases: string[]
  isCut: boolean
}

export const catalogue = signal<Catalogue | undefined>(undefined)
export const catalogueError = signal<unknown>(undefined)
export const contents = signal<ReadonlyMap<string, Contents | { error: unknown }>>(new Map())

export const unreadDatabases = computed(() => catalogue.value?.databases.filter((db) => !contents.value.has(db)) ?? [])

/** Databases whose contents are being read for the first time. */
export const opening = signal<ReadonlySet<string>>(new Set())

const readContents = async (db: string): Promise<Contents> => {
  const query = `?limit=${pageRowsMax}`
  const [tables, buckets, tasks] = await Promise.all([
    read<ListTablesResponse>('GET', pathOf('v1', db) + query),
    read<ListBucketsResponse>('GET', pathOf('v1', db, '_buckets') + query),
    canWrite.value ? readTasks(db) : { tasks: [], cursor: null },
  ])
  return {
    tables: tables.tables,
    buckets: buckets.buckets,
    tasks: tasks.tasks,
    isCut: [tables, buckets, tasks].some(({ cursor }) => cursor !== null),
  }
}

/** Reads it anew; what was known stays shown meanwhile. An answer to a session that has ended is dropped. */
export const loadContents = async (db: string): Promise<void> => {
  const { key } = connection
  let found: Contents | { error: unknown }
  opening.value = new Set(opening.value).add(db)
  try {
    found = await readContents(db)
  } catch (error) {
    found = { error }
  }
  if (connection.key !== key) return
  opening.value = new Set([...opening.value].filter((other) => other !== db))
  contents.value = new Map(contents.value).set(db, found)
}

/** A few at once: there may be 1,000 of them. */
export const loadAllContents = async (databases: readonly string[]): Promise<void> => {
  const left = [...databases]
  const work = async () => {
    for (let db = left.shift(); db !== undefined; db = left.shift()) {
      await loadContents(db)
    }
  }
  await Promise.all(Array.from({ length: openedDatabasesMax }, work))
}

export const loadCatalogue = async (): Promise<void> => {
  const { key } = connection
  try {
    const { databases, cursor } = await read<ListDatabasesResponse>('GET', `/v1?limit=${pageRowsMax}`)
    if (connection.key !== key) return
    catalogue.value = { databases, isCut: cursor !== null }
    catalogueError.value = undefined
    await Promise.all(databases.slice(0, openedDatabasesMax).map(loadContents))
  } catch (error) {
    if (connection.key === key) catalogueError.value = error
  }
}

export const forgetCatalogue = (): void => {
  catalogue.value = undefined
  contents.value = new Map()
  opening.value = new Set()
  catalogueError.value = undefined
  runCounts.value = new Map()
}

/** Reads the list again after a change in a database, which may be a new one. */
export const refreshRail = (db: string): unknown =>
  catalogue.value?.databases.includes(db) ? loadContents(db) : loadCatalogue()

const oldMs = 15_000
let countedMs = 0

/** The numbers of runs, if they were read some time ago: when the reader goes to another screen, or comes back to the tab. */
export const refreshCounts = async (): Promise<void> => {
  if (!canWrite.value || document.hidden || Date.now() - countedMs < oldMs) return
  countedMs = Date.now()
  const withTasks = [...contents.value].filter(([, found]) => 'tasks' in found && found.tasks.length > 0)
  // Counts that cannot be read now stay as they were shown.
  await Promise.all(withTasks.slice(0, openedDatabasesMax).map(([db]) => readTasks(db).catch(() => {})))
}
