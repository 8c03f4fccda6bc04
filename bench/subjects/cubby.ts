import { closeSync, cpSync, fsyncSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild, temporaryDirectory } from '../cleanup.ts'
import { requireNoErrors } from '../load/load.ts'
import { runOwnLoad } from '../load/own.ts'
import type { Shape } from '../load/template.ts'
import { batchRecords, shapeOf } from '../workload.ts'
import { CubbyDialect, table, tableIndices } from './cubby-dialect.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { HttpSubject, type LoadSettings } from './subject.ts'

const main = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))

/** A filled store: its location and its API key. */
export interface FilledStore {
  /** `--data DIR` or `--store URL`. */
  location: string[]
  apiKey: string
  shape: Shape
  bytesPerRecord?: number
  remove(): void
}

export interface ServeOptions {
  /** The main file of another version. */
  program?: string
  args?: string[]
  env?: Record<string, string>
}

export const serveCubby = (
  location: string[],
  { program = main, args = [], env }: ServeOptions = {},
): Promise<ServerProcess> =>
  startServer({
    command: [process.execPath, program, 'serve', ...location, '--port', '0', '--no-bootstrap', ...args],
    env,
  })

/** True if `cubby serve` of this version has the flag. */
export const serveKnows = async (flag: string): Promise<boolean> =>
  (await runChild([process.execPath, main, 'serve', '--help'])).stdout.includes(flag)

export const createOrganization = async (location: string[], program = main): Promise<string> => {
  const { stdout } = await runChild([process.execPath, program, 'orgs', 'create', 'bench', ...location, '--json'])
  return (JSON.parse(stdout) as { secretKey: string }).secretKey
}

export const callCubby = async (
  server: ServerProcess,
  apiKey: string,
  method: string,
  path: string,
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: the answer of whatever was asked.
): Promise<any> => {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { Authorization: `Bearer ${apiKey}` },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

/** Puts all records, in batches over HTTP, as a user would. */
export const fillTable = async (server: ServerProcess, apiKey: string, shape: Shape, path = table): Promise<void> => {
  await callCubby(server, apiKey, 'POST', path, { indices: tableIndices })
  const pluses = Array.from({ length: batchRecords }, (_, i) => i)
  const result = await runOwnLoad({
    port: server.port,
    templates: [{ times: 1, parts: new CubbyDialect(apiKey).batch(pluses, path) }],
    shape,
    connections: 32,
    requests: Math.ceil(shape.records / batchRecords),
    stride: batchRecords,
  })
  requireNoErrors(result, `filling ${path}`)
}

export const directoryBytes = (path: string): number =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(path, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)

const syncFile = (path: string): void => {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}

const filled = new Map<number, Promise<FilledStore>>()
let copies = 0

const fillDirectory = async (records: number): Promise<FilledStore> => {
  const dir = join(temporaryDirectory(), `filled-${records}`)
  const location = ['--data', dir]
  const shape = shapeOf(records)
  const apiKey = await createOrganization(location)
  const server = await serveCubby(location)
  await fillTable(server, apiKey, shape)
  // A stop copies the WAL into the database file, so that file is the whole store.
  await server.stop()
  return { location, apiKey, shape, bytesPerRecord: directoryBytes(dir) / records, remove: () => {} }
}

/** A new store with this many records. It is filled once for each size, then copied. */
export const copyFilledStore = async (records: number): Promise<FilledStore> => {
  let original = filled.get(records)
  if (original === undefined) {
    original = fillDirectory(records)
    filled.set(records, original)
  }
  const store = await original
  const dir = join(temporaryDirectory(), `copy-${++copies}`)
  cpSync(store.location[1]!, dir, { recursive: true })
  // Otherwise the disk would still write the copy during the puts.
  for (const name of readdirSync(dir)) syncFile(join(dir, name))
  return { ...store, location: ['--data', dir], remove: () => rmSync(dir, { recursive: true, force: true }) }
}

export const startCubby = async (
  name: string,
  store: FilledStore,
  load: LoadSettings,
  options: ServeOptions = {},
  helpers?: () => number[],
): Promise<HttpSubject> => {
  const server = await serveCubby(store.location, options)
  const dialect = new CubbyDialect(store.apiKey)
  return new HttpSubject(name, server, dialect, store.shape, load, store.bytesPerRecord, helpers)
}
