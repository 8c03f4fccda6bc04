import { beforeAll, describe, expect, test } from 'bun:test'
import type { Api, Json, Server } from '../harness.ts'
import { eventually, startServer } from '../harness.ts'
import { makeBucket, type TestBucket } from './bucket.ts'
import { makeTable, ok, refused, type TestTable, useService } from './service.ts'
import { asUser } from './user.ts'

// A backup contains the secret that signs URLs. Without an end of its use, who reads one can read every file for ever.

const service = useService({ clock: true })

const minuteMs = 60_000
const weekMs = 7 * 24 * 60 * minuteMs

let bucket: TestBucket
let table: TestTable

/** A bucket with a private file, and a table with two records. */
const fill = async (api: Api): Promise<[TestBucket, TestTable]> => {
  const made = [await makeBucket(api), await makeTable(api)] as const
  await made[0].put('private.txt', 'private')
  for (const hashKey of ['a', 'b']) await made[1].put(hashKey)
  return [...made]
}

beforeAll(async () => {
  ;[bucket, table] = await fill(service.api)
})

const urlOf = async ({ api, path }: Pick<TestBucket, 'api' | 'path'>, expiresIn = 604_800): Promise<string> =>
  ok(await api.post(`${path}/url`, { name: 'private.txt', expiresIn })).url

const readUrl = async (
  url: string,
  server: Server = service.server,
): Promise<{ status: number; code: string | undefined }> => {
  // The server gets another port when it restarts. A connection of its own: any of several processes may answer.
  const response = await fetch(url.replace(/^http:\/\/[^/]+/, server.url), { headers: { connection: 'close' } })
  const text = await response.text()
  return { status: response.status, code: response.ok ? undefined : JSON.parse(text).error.code }
}

const read = { status: 200, code: undefined }
const invalid = { status: 403, code: 'invalid_signature' }

/** The cursor of the first page, of a query and of a listing. */
const cursorsOf = async (of: TestTable): Promise<{ query: string; listing: string }> => ({
  query: ok(await of.api.post(`${of.path}/query`, { index: 't', limit: 1 })).cursor,
  listing: ok(await of.api.get('/api/keys?limit=1')).cursor,
})

const resume = async (of: TestTable, cursors: { query: string; listing: string }): Promise<number[]> => [
  (await of.api.post(`${of.path}/query`, { index: 't', limit: 1, cursor: cursors.query })).status,
  (await of.api.get(`/api/keys?limit=1&cursor=${cursors.listing}`)).status,
]

describe('a signed URL whose end is further ahead than any that is given out', () => {
  test('is refused: 7 days and 5 minutes are the most', async () => {
    // The same URL, seen by a clock that is behind: its end is further ahead.
    const url = await urlOf(bucket)
    expect(await readUrl(url)).toEqual(read)
    service.server.setClock(-4 * minuteMs)
    expect(await readUrl(url)).toEqual(read)
    service.server.setClock(-6 * minuteMs)
    expect(await readUrl(url)).toEqual(invalid)
    const upload = await fetch(
      ok(await service.api.post(`${bucket.path}/url`, { name: 'up', method: 'PUT', expiresIn: 604_800 })).url,
      { method: 'PUT', body: 'x' },
    )
    expect(upload.status).toBe(200)
    service.server.setClock(0)
    expect(await readUrl(url)).toEqual(read)
  })
})

const rotate = async (...flags: string[]): Promise<Json> => service.server.cubbyJson('secrets', 'rotate', ...flags)

describe('cubby secrets rotate', () => {
  test('what was given out before is accepted for 7 days, what is given out since for longer', async () => {
    const before = { url: await urlOf(bucket), cursors: await cursorsOf(table) }
    const rotated = await rotate()
    expect(rotated.earlier.map((secret: Json) => secret.acceptedUntil)).toEqual([expect.any(Number)])
    expect(Math.abs(rotated.earlier[0].acceptedUntil - Date.now() - weekMs)).toBeLessThan(minuteMs)
    const since = { url: await urlOf(bucket), cursors: await cursorsOf(table) }
    expect(since.cursors).not.toEqual(before.cursors)
    for (const { url, cursors } of [before, since]) {
      expect(await readUrl(url)).toEqual(read)
      expect(await resume(table, cursors)).toEqual([200, 200])
    }
    await service.server.restart()
    service.server.setClock(weekMs - minuteMs)
    for (const { cursors } of [before, since]) expect(await resume(table, cursors)).toEqual([200, 200])
    service.server.setClock(weekMs + minuteMs)
    expect(await resume(table, since.cursors)).toEqual([200, 200])
    expect(await resume(table, before.cursors)).toEqual([400, 400])
    refused(await table.api.get(`/api/keys?limit=1&cursor=${before.cursors.listing}`), 400, 'invalid_cursor')
    expect(await readUrl(before.url)).toEqual(invalid)
    expect(await readUrl(since.url)).toEqual({ status: 403, code: 'expired_url' })
    service.server.setClock(0)
  })

  test('--now ends all of them at once', async () => {
    const oldest = { url: await urlOf(bucket), cursors: await cursorsOf(table) }
    await rotate()
    const older = { url: await urlOf(bucket), cursors: await cursorsOf(table) }
    expect(await rotate('--now')).toEqual({ rotatedAt: expect.any(Number), earlier: [] })
    for (const { url, cursors } of [oldest, older]) {
      expect(await readUrl(url)).toEqual(invalid)
      expect(await resume(table, cursors)).toEqual([400, 400])
    }
    expect(await readUrl(await urlOf(bucket))).toEqual(read)
    expect(await resume(table, await cursorsOf(table))).toEqual([200, 200])
  })

  test('user tokens, and the URLs that they have signed, go on; --now ends them', async () => {
    const { api, path } = bucket
    const user = await asUser(api, 'ada', [{ db: 'app', bucket: path.split('/').at(-1)!, can: 'read' }])
    const url = await urlOf({ api: user, path })
    const expectValid = async (): Promise<void> => {
      ok(await user.get('/api/tokens/self'))
      expect(await readUrl(url)).toEqual(read)
    }
    await expectValid()
    await rotate()
    await expectValid()
    await rotate('--now')
    refused(await user.get('/api/tokens/self'), 401, 'invalid_token')
    expect(await readUrl(url)).toEqual(invalid)
  })

  test('says what it did', async () => {
    const slow = await service.server.cubby('secrets', 'rotate')
    expect(slow).toMatchObject({ exitCode: 0, stderr: '' })
    expect(slow.stdout).toMatch(/^rotated: [^\n]+ are accepted until [0-9-]+T[0-9:]+Z\n$/)
    const now = await service.server.cubby('secrets', 'rotate', '--now')
    expect(now).toMatchObject({ exitCode: 0, stderr: '' })
    expect(now.stdout).toMatch(/^rotated: [^\n]+ are no longer accepted\n$/)
  })
})

test('with several processes: no cursor and no URL is refused meanwhile; --now ends the old ones in each', async () => {
  const server = await startServer({ args: ['--workers', '3'] })
  try {
    const { secretKey } = await server.createOrganization()
    const api = server.as(secretKey)
    const [files, records] = await fill(api)
    const before = { url: await urlOf(files), cursors: await cursorsOf(records) }
    let isRotated = false
    const rotating = server.cubbyJson('secrets', 'rotate').finally(() => {
      isRotated = true
    })
    const refusals: unknown[] = []
    let rounds = 0
    while (!isRotated || rounds < 30) {
      rounds++
      const [url, cursors] = [await urlOf(files), await cursorsOf(records)]
      const answers = await Promise.all([readUrl(url, server), readUrl(before.url, server), resume(records, cursors)])
      if (!Bun.deepEquals(answers, [read, read, [200, 200]])) refusals.push(answers)
    }
    expect((await rotating).earlier).toHaveLength(1)
    expect(refusals).toEqual([])
    const last = await urlOf(files)
    await server.cubbyJson('secrets', 'rotate', '--now')
    for (let i = 0; i < 30; i++) {
      expect(await Promise.all([readUrl(before.url, server), readUrl(last, server)])).toEqual([invalid, invalid])
      expect(await readUrl(await urlOf(files), server)).toEqual(read)
    }
    await eventually('every cursor of before is refused', async () =>
      Bun.deepEquals(await resume(records, before.cursors), [400, 400]) ? true : undefined,
    )
  } finally {
    await server.stop()
  }
})
