import { Database } from 'bun:sqlite'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { type Api, makeTempDir, type Organization, removeTempDir, runCubby, Server } from '../harness.ts'
import { ok, type TestTable } from '../http/service.ts'
import { startPostgres } from '../postgres-server.ts'
import {
  accounts,
  deletedRecords,
  eventRecords,
  files,
  indices,
  peopleRecords,
  plainRecords,
  requestsOf,
  runs,
  tasks,
} from './content.ts'
import { dumpSql } from './dump-sql.ts'
import { dayMs, type Expected, replay } from './expected.ts'
import { folderOf, openCopy, sqliteStores } from './kept-stores.ts'

// Writes the store of this version that later versions must open, for each engine, and its responses:
//
//   npx bun packages/server/test/stores/write-store.ts
//
// Once a version of the store is released, its store is never written again: a file that exists stays as it is. Delete
// the folder first to write a store again that is not released yet.

const target = folderOf(`v${sqliteStores.schemaVersion}`)
/** The clock of the server that writes the store always shows this time, so that later tests can set theirs in relation to it. */
const writtenAtMs = Date.UTC(2026, 0, 1)

const writeRecords = async (api: Api, path: string, records: string[]): Promise<void> => {
  // Records are sent as text, because the stored text is the sent text.
  for (const record of records) {
    const answer = await api.put(path, record)
    ok(answer)
    const data = record.slice(record.indexOf('"data":'), -1)
    if (!answer.text.includes(data)) throw new Error(`${data} came back as ${answer.text}`)
  }
}

const createTable = async (api: Api, path: string, declared?: TestTable['created']): Promise<void> => {
  ok(await api.post(path, declared === undefined ? undefined : { indices: declared }), 201)
}

const deleteTable = async (api: Api, path: string): Promise<void> => {
  ok(await api.delete(path))
}

const writeStore = async (dataDir: string): Promise<Expected['keys']> => {
  const server = new Server({ dataDir, clock: true, args: ['--small-files-in-store'] })
  server.setClock(writtenAtMs - Date.now())
  await server.start()
  try {
    const [acme, globex] = [await server.createOrganization('acme'), await server.createOrganization('globex')]
    const api = server.as(acme.secretKey)
    const other = server.as(globex.secretKey)

    await createTable(api, '/v1/app/people', indices)
    await writeRecords(api, '/v1/app/people', peopleRecords)
    await createTable(api, '/v1/app/plain')
    await writeRecords(api, '/v1/app/plain', plainRecords)
    await createTable(api, '/v1/app/empty', { i5: { hashField: 'a field of "its" own' } })
    await createTable(api, '/v1/logs/events', { i1: { hashField: 'kind' } })
    await writeRecords(api, '/v1/logs/events', eventRecords(writtenAtMs))
    // Both deleted tables of one name can be restored.
    for (const records of [deletedRecords.slice(0, 1), deletedRecords]) {
      await createTable(api, '/v1/app/gone', { i1: { hashField: 'n' } })
      await writeRecords(api, '/v1/app/gone', records)
      await deleteTable(api, '/v1/app/gone')
    }
    for (const bucket of ['app/_buckets/pictures', 'app/_buckets/gone', 'files/_buckets/only']) {
      ok(await api.post(`/v1/${bucket}`), 201)
    }
    for (const [i, [name, query, bytes]] of files.entries()) {
      const path = `/v1/app/_buckets/pictures/${encodeURIComponent(name)}?${query}`
      // The first file is sent chunked: its bytes are in the directory of files, those of the others in the store.
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      ok(await server.request('PUT', path, { key: acme.secretKey, body: bytes, headers, chunked: i === 0 }))
    }
    ok(await api.raw('PUT', '/v1/app/_buckets/gone/a', { body: 'a file of a deleted bucket' }))
    ok(await api.delete('/v1/app/_buckets/gone'))
    for (const [name, declaration] of tasks) ok(await api.put(`/v1/app/_tasks/${name}`, declaration), 201)
    for (const run of runs) ok(await api.post('/v1/app/_tasks/mail/run', run), 201)
    ok(await api.post('/v1/app/_tasks/gone/run', '{"id":"left"}'), 201)
    ok(await api.delete('/v1/app/_tasks/gone'))
    // Another organization has the same names.
    await createTable(other, '/v1/app/people', { i1: { hashField: 'city' } })
    await writeRecords(other, '/v1/app/people', ['{"hashKey":"ada","data":{"city":"elsewhere"}}'])
    const initech = await server.createOrganization('initech')
    await createTable(server.as(initech.secretKey), '/v1/app/people')
    await writeRecords(server.as(initech.secretKey), '/v1/app/people', [
      '{"hashKey":"ada","data":{"of":"a deleted one"}}',
    ])
    await server.cubbyJson('orgs', 'delete', 'initech', '--confirm', 'initech')
    await server.cubbyJson('console', 'link', '--org', 'acme')
    await server.cubbyJson('secrets', 'rotate')
    return { ...(await writeKeys(api, acme, globex)), deleted: initech.secretKey }
  } finally {
    await server.stop()
  }
}

const writeKeys = async (api: Api, acme: Organization, globex: Organization): Promise<Expected['keys']> => {
  const keys: Expected['keys'] = {
    secret: acme.secretKey,
    public: acme.publicKey,
    other: globex.secretKey,
  }
  for (const [name, request] of Object.entries(accounts(writtenAtMs))) {
    const made = ok(await api.post('/api/keys', request), 201)
    keys[name] = made.key
    if (name === 'revoked') ok(await api.delete(`/api/keys/${made.id}`))
    if (name === 'rolled') keys.next = await roll(api, made.id)
  }
  return keys
}

/** Returns the new key. The old one ends an hour later. */
const roll = async (api: Api, id: string): Promise<string> =>
  ok(await api.post(`/api/keys/${id}/roll`, { expiresAt: writtenAtMs + 3_600_000 }), 201).key

/** Writes `cubby.db` and `expected.json`. */
const writeSqlite = async (work: string): Promise<void> => {
  const keys = await writeStore(join(work, 'store'))
  const file = join(work, 'store', 'cubby.db')
  const db = new Database(file)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  mkdirSync(target, { recursive: true })
  copyFileSync(file, join(target, 'cubby.db'))
  cpSync(join(work, 'store', 'files'), join(target, 'files'), { recursive: true })

  const expected: Expected = { writtenAtMs, keys, answers: [] }
  const server = await openCopy(sqliteStores, target, expected, dayMs)
  try {
    for (const request of requestsOf())
      expected.answers.push({ ...request, ...(await replay(server, expected, request)) })
  } finally {
    await server.stop()
  }
  writeFileSync(join(target, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`)
}

/** Reads the mark that the server writes into a directory of files. */
const markOf = (files: string): string => readFileSync(join(files, 'cubby-files.mark'), 'utf8').trim()

/** Writes `cubby.sql` by `cubby copy` of `cubby.db`. It keeps ids, keys and versions, so its responses are the same. */
const writePostgres = async (work: string): Promise<void> => {
  const postgres = await startPostgres({ auth: 'password' })
  try {
    const [dataDir, store] = [join(work, 'source'), await postgres.createSchema()]
    await sqliteStores.copy(target, dataDir)
    const copied = await runCubby(['copy', '--from', dataDir, '--to', store, '--files', join(work, 'files')])
    if (copied.exitCode !== 0) throw new Error(`cubby copy failed: ${copied.stdout}${copied.stderr}`)
    const client = new pg.Client({ connectionString: store })
    await client.connect()
    try {
      // Both stores share one directory of files.
      const mark = markOf(join(target, 'files'))
      await client.query('update cubby_store set file_mark = $1, store_id = $2', [mark, mark.slice(0, 32)])
      writeFileSync(join(target, 'cubby.sql'), await dumpSql(client))
    } finally {
      await client.end()
    }
  } finally {
    await postgres.remove()
  }
}

const work = makeTempDir()
try {
  for (const [file, write] of [
    ['cubby.db', writeSqlite],
    ['cubby.sql', writePostgres],
  ] as const) {
    const path = join(target, file)
    const exists = existsSync(path)
    if (!exists) await write(work)
    console.log(`${path}: ${statSync(path).size} bytes${exists ? ', kept as it was' : ''}`)
  }
} finally {
  removeTempDir(work)
}
