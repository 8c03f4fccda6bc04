import { Database } from 'bun:sqlite'
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { schemaVersion as postgresVersion } from '../../src/engines/postgres/migrations/schema.ts'
import { schemaVersion as sqliteVersion } from '../../src/engines/sqlite/migrations/schema.ts'
import { makeTempDir, removeTempDir, Server, type StartOptions } from '../harness.ts'
import type { SharedPostgres } from '../postgres-server.ts'
import type { Expected } from './expected.ts'

// The folder of a released version has a store for each engine, with the same content, the responses of both, the bytes of files
// for both (0.1 had none), and the program that wrote them:
//
//   v7/cubby.db  v7/cubby.sql  v7/expected.json  v7/files  v7/program.tar.gz

const here = dirname(fileURLToPath(import.meta.url))

export const folderOf = (version: string): string => join(here, version)

export const packedProgramOf = (version: string): string => join(here, version, 'program.tar.gz')

const unpacked = new Map<string, Promise<string>>()

const unpack = async (version: string): Promise<string> => {
  const dir = makeTempDir()
  process.on('exit', () => removeTempDir(dir))
  await new Bun.Archive(await Bun.file(packedProgramOf(version)).bytes()).extract(dir)
  return join(dir, 'main.js')
}

/** Unpacks a version's program, once for each process. Its main file is a `program` for `startServer` and `runCubby`. */
export const programOf = (version: string): Promise<string> => {
  if (!unpacked.has(version)) unpacked.set(version, unpack(version))
  return unpacked.get(version)!
}

export const versions = readdirSync(here).filter((name) => existsSync(join(here, name, 'expected.json')))

export const readExpected = (version: string): Expected =>
  JSON.parse(readFileSync(join(folderOf(version), 'expected.json'), 'utf8'))

/** Says how an engine's stores are kept, and makes copies of them. */
export interface StoreKind {
  engine: string
  /** The store in the folder of a version. */
  file: 'cubby.db' | 'cubby.sql'
  schemaVersion: number
  /** Copies the store in the folder `from` into `dataDir`, or into a schema of its own. */
  copy(from: string, dataDir: string): Promise<StoreCopy>
}

export interface StoreCopy {
  /** The URL of a PostgreSQL store. */
  store?: string
  /** The directory of the files of a PostgreSQL store. */
  files?: string
  /** Counts rows of the store itself, also expired and deleted ones. The store must have the current version. */
  count(table: 'tables' | 'records', condition: string): Promise<number>
}

export const sqliteStores: StoreKind = {
  engine: 'SQLite',
  file: 'cubby.db',
  schemaVersion: sqliteVersion,
  async copy(from, dataDir) {
    mkdirSync(dataDir, { recursive: true })
    const file = join(dataDir, 'cubby.db')
    copyFileSync(join(from, 'cubby.db'), file)
    copyFiles(from, dataDir)
    return {
      async count(table, condition) {
        const db = new Database(file, { readonly: true })
        try {
          return db.query<{ n: number }, []>(`select count(*) as n from ${table} where ${condition}`).get()!.n
        } finally {
          db.close()
        }
      },
    }
  },
}

/** Returns whether the version has files. */
const copyFiles = (from: string, dataDir: string): boolean => {
  if (!existsSync(join(from, 'files'))) return false
  cpSync(join(from, 'files'), join(dataDir, 'files'), { recursive: true })
  return true
}

/** Copies stay in the server until it is removed. */
export const postgresStores = (postgres: () => SharedPostgres): StoreKind => ({
  engine: 'PostgreSQL',
  file: 'cubby.sql',
  schemaVersion: postgresVersion,
  async copy(from, dataDir) {
    const store = await postgres().createSchema()
    await postgres().query(readFileSync(join(from, 'cubby.sql'), 'utf8'), store)
    return {
      store,
      ...(copyFiles(from, dataDir) && { files: join(dataDir, 'files') }),
      async count(table, condition) {
        const name = { tables: 'cubby_table_8', records: 'cubby_record_8' }[table]
        // Conditions name SQLite's columns. Those of PostgreSQL have their unit in the name.
        const where = condition.replace('deleted_at', 'deleted_at_ms').replace('ttl', 'ttl_seconds')
        const [row] = await postgres().query(`select count(*) as n from ${name} where ${where}`, store)
        return Number(row!.n)
      },
    }
  },
})

/** A server on a copy of a kept store. */
export class KeptServer extends Server {
  readonly copy: StoreCopy
  private readonly top: string

  constructor(options: StartOptions, copy: StoreCopy, top: string) {
    super(options)
    this.copy = copy
    this.top = top
  }

  override remove(): void {
    super.remove()
    removeTempDir(this.top)
  }
}

/** Starts a server on a copy of the store. Its clock is `laterMs` after the writing. */
export const openCopy = async (
  kind: StoreKind,
  from: string,
  { writtenAtMs }: Pick<Expected, 'writtenAtMs'>,
  laterMs: number,
  options: StartOptions = {},
): Promise<KeptServer> => {
  const top = makeTempDir()
  const dataDir = join(top, 'data')
  const copy = await kind.copy(from, dataDir)
  const server = new KeptServer({ ...options, dataDir, store: copy.store, files: copy.files, clock: true }, copy, top)
  server.setClock(writtenAtMs + laterMs - Date.now())
  try {
    await server.start()
  } catch (error) {
    server.remove()
    throw error
  }
  return server
}
