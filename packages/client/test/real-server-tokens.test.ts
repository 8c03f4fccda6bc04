import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync, sign } from 'node:crypto'
import { Cubby, type Grant } from '../src/index.ts'
import { failureOf } from './fake-fetch.ts'
import { until } from './fake-tasks.ts'
import { type RealServer, startRealServer } from './real-server.ts'

setDefaultTimeout(120_000)

let server: RealServer
let cubby: Cubby
beforeAll(async () => {
  server = await startRealServer()
  cubby = server.cubby()
  const db = cubby.db('app')
  await db.tables.create('notes', { changes: { keepHours: 24 }, indices: { i1: { hashField: 'to' } } })
  await db.buckets.create('files')
  await db.tasks.declare('mail')
})
afterAll(() => server?.stop())

const grantsOf = (user: string): Grant[] => [
  { db: 'app', table: 'notes', hash: user, can: 'write' },
  { db: 'app', table: 'notes', index: 'i1', hash: user, can: 'read' },
  { db: 'app', bucket: 'files', prefix: `${user}/`, can: 'write' },
  { db: 'app', task: 'mail', can: 'run' },
]

/** The client in the page of a person, and how often it asked for a token. */
const pageOf = (user: string) => {
  const state = { asked: 0 }
  const token = async () => {
    state.asked++
    return cubby.tokens.create({ user, grants: grantsOf(user) })
  }
  return { state, db: new Cubby({ url: server.url, token }).db('app') }
}

test('a person reads and writes what the grants name, with one token', async () => {
  const { state, db } = pageOf('ada')
  const notes = db.table('notes')
  await notes.save({ hashKey: 'ada', rangeKey: 'n1', data: { text: 'milk', to: 'bob' } })
  await notes.patch({ hashKey: 'ada', rangeKey: 'n1' }, { merge: { text: 'bread' } })
  await notes.batch([{ op: 'put', hashKey: 'ada', rangeKey: 'n2', data: {} }])
  expect(await notes.count({ hash: 'ada' })).toBe(2)
  expect((await notes.find([{ hashKey: 'ada', rangeKey: 'n2' }]))[0]?.data).toEqual({})
  const files = db.bucket('files')
  await files.put('ada/a.txt', new Blob(['bytes']))
  expect(await (await files.get('ada/a.txt'))?.text()).toBe('bytes')
  expect((await files.query({ prefix: 'ada/' })).items).toHaveLength(1)
  const { url } = await files.getUrl('ada/a.txt')
  expect(await (await fetch(url)).text()).toBe('bytes')
  const run = await db.task('mail').run({ to: 'bob' })
  expect((await db.task('mail').get(run))?.user).toBe('ada')
  expect(state.asked).toBe(1)

  // What others have put into the list of bob is all that bob sees of it.
  const bob = pageOf('bob').db
  expect((await bob.table('notes').query({ index: 'i1', hash: 'bob' })).items.map(({ data }) => data.text)).toEqual([
    'bread',
  ])
  const refused = await Promise.all([
    failureOf(bob.table('notes').findOne({ hashKey: 'ada', rangeKey: 'n1' })),
    failureOf(bob.table('notes').query({ index: 't' })),
    failureOf(bob.bucket('files').get('ada/a.txt')),
    failureOf(bob.tables.list()),
    failureOf(bob.task('mail').run({}, { id: 'mine' })),
  ])
  expect(refused.map(({ code, status }) => `${status} ${code}`)).toEqual(Array(5).fill('403 not_granted'))
  expect(await bob.task('mail').get(run)).toBeUndefined()
})

test('a watch goes on when its user is revoked, and calls that run then are sent again', async () => {
  const { state, db } = pageOf('eve')
  const notes = db.table('notes')
  const left = new AbortController()
  const seen: number[] = []
  const watching = notes.watch(
    { hash: 'eve' },
    { signal: left.signal, onChange: (items) => void seen.push(items.length) },
  )
  await until('the first result', () => seen.at(-1) === 0)
  await cubby.tokens.revoke('eve')
  await Promise.all(
    ['n1', 'n2', 'n3'].map((rangeKey) => notes.save({ hashKey: 'eve', rangeKey, data: {} }, { retries: 0 })),
  )
  await until('the notes', () => seen.at(-1) === 3)
  left.abort()
  await watching
  expect(state.asked).toBe(2)
})

test('a login token of an issuer is exchanged, and the issuer can be taken away', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1' }] }
  const grants: Grant[] = [{ db: 'app', table: 'notes', hash: '{sub}', can: 'write' }]
  const declaration = { issuer: 'https://login.test/', audience: 'notes', keys, grants }
  const put = await cubby.issuers.put('login', declaration)
  expect(put).toMatchObject({ name: 'login', ...declaration, createdAt: expect.any(Number) })
  expect(await cubby.issuers.get('login')).toEqual(put)
  expect(await cubby.issuers.list()).toEqual({ issuers: [put] })

  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: 'https://login.test/', aud: 'notes', sub: 'zoe', iat: now, exp: now + 600 }
  const text = `${part({ alg: 'ES256', kid: 'k1' })}.${part(claims)}`
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const loginToken = `${text}.${signature.toString('base64url')}`

  const page = new Cubby({ url: server.url, token: () => cubby.tokens.exchange(loginToken) })
  expect(await page.tokens.self()).toMatchObject({
    user: 'login:zoe',
    grants: [{ hash: 'zoe' }],
    expiresAt: (now + 600) * 1000,
  })
  await page.db('app').table('notes').save({ hashKey: 'zoe', data: {} })
  expect(await cubby.issuers.delete('login')).toEqual({ deleted: true })
  expect(await cubby.issuers.get('login')).toBeUndefined()
  // The token is refused, the client asks for another, and the login token has no issuer any more.
  expect(await failureOf(page.tokens.self())).toMatchObject({ code: 'invalid_token', status: 401 })
})
