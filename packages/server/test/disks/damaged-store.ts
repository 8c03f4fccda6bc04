import { Database } from 'bun:sqlite'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Organization, type Server, startServer } from '../harness.ts'
import { makeTable, type TestTable } from '../http/service.ts'

// A store with two organizations, and functions that damage its file as a disk would, unknown to the server.

const pageBytes = 4_096

export interface DamagedStore {
  server: Server
  file: string
  org: Organization
  otherOrg: Organization
  /** Two tables of one organization, and one of another: keys `k0` … in each. */
  orders: TestTable
  users: TestTable
  theirs: TestTable
}

export const recordsEach = 400

const keyOf = (i: number): string => `k${i}`
export const allKeys: string[] = Array.from({ length: recordsEach }, (_, i) => keyOf(i))

/**
 * Fills a store and stops its server, so that everything is in the database file. `start` starts it again. The records of a
 * table are adjacent, two on each page.
 */
export const makeStore = async (dataDir: string, args: string[] = []): Promise<DamagedStore> => {
  const server = await startServer({ dataDir, args })
  const [org, otherOrg] = [await server.createOrganization('acme'), await server.createOrganization('beta')]
  const indices = { i1: { hashField: 'shelf' } }
  const orders = await makeTable(server.as(org.secretKey), indices, 'orders')
  const users = await makeTable(server.as(org.secretKey), indices, 'users')
  const theirs = await makeTable(server.as(otherOrg.secretKey), indices, 'theirs')
  for (const table of [orders, users, theirs]) {
    const data = (i: number) => ({ shelf: `s${i % 4}`, n: i, text: 'x'.repeat(1_500) })
    await table.fill(allKeys.map((hashKey, i) => ({ hashKey, data: data(i) })))
  }
  await server.end('SIGTERM')
  return { server, file: join(dataDir, 'cubby.db'), org, otherOrg, orders, users, theirs }
}

const readPage = (handle: number, number: number): Buffer => {
  const page = Buffer.alloc(pageBytes)
  readSync(handle, page, 0, pageBytes, (number - 1) * pageBytes)
  return page
}

export const rootPage = (file: string, name: string): number => {
  const db = new Database(file, { readonly: true })
  const root = db.query<{ rootpage: number }, [string]>('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name)!
  db.close()
  return root.rootpage
}

/** The leaves of a table or index, in order. Types 2 and 5 are inner pages (SQLite's file format, 1.6). */
export const leavesOf = (file: string, name: string): number[] => {
  const root = rootPage(file, name)
  const handle = openSync(file, 'r')
  const leaves: number[] = []
  const visit = (number: number): void => {
    const page = readPage(handle, number)
    if (page[0] !== 2 && page[0] !== 5) {
      leaves.push(number)
      return
    }
    for (let cell = 0; cell < page.readUInt16BE(3); cell++) visit(page.readUInt32BE(page.readUInt16BE(12 + 2 * cell)))
    visit(page.readUInt32BE(8))
  }
  visit(root)
  closeSync(handle)
  return leaves
}

/** Fills pages with nonsense. */
export const spoilPages = (file: string, numbers: number[]): void => {
  const handle = openSync(file, 'r+')
  for (const number of numbers) writeSync(handle, Buffer.alloc(pageBytes, 0xa7), 0, pageBytes, (number - 1) * pageBytes)
  closeSync(handle)
}

/** A few leaves from the middle of the records of one table: `orders` came first, then `users`, then `theirs`. */
export const recordLeaves = (file: string, table: 'orders' | 'users' | 'theirs', count = 3): number[] => {
  const leaves = leavesOf(file, 'records')
  const third = leaves.length / 3
  const middle = Math.floor(third * (['orders', 'users', 'theirs'].indexOf(table) + 0.5))
  return leaves.slice(middle, middle + count)
}

/** The keys of a table by what a get of each answers. */
export const sortKeys = async (table: TestTable): Promise<{ good: string[]; bad: string[] }> => {
  const good: string[] = []
  const bad: string[] = []
  for (const key of allKeys) {
    const answer = await table.get(key)
    if (answer.status === 200) good.push(key)
    else if (answer.status === 500 && answer.body.error.code === 'store_damaged') bad.push(key)
    else throw new Error(`get ${key}: ${answer.status} ${answer.text}`)
  }
  return { good, bad }
}
