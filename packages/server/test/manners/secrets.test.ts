import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { createKey, createRevokedKey, ok, unknownKey, wrongChecksum } from '../http/service.ts'

// A key in a log or a backup has leaked: anybody who can read either could use it.

setDefaultTimeout(120_000)

let server: Server
const keys: Record<string, string> = {}

beforeAll(async () => {
  server = await startServer({ args: ['--log', 'requests'] })
  const org = await server.createOrganization()
  const api = server.as(org.secretKey)
  ok(await api.post('/v1/app/notes', { indices: { i1: { hashField: 'a' } } }), 201)
  const scoped = await createKey(api, { kind: 'secret', name: 'scoped', databases: ['app'] })
  const byCommand = await server.cubbyJson('keys', 'create', '--org', org.name, '--kind', 'public')
  Object.assign(keys, {
    secret: org.secretKey,
    public: org.publicKey,
    scoped: scoped.key,
    byCommand: byCommand.key,
    revoked: (await createRevokedKey(api)).key,
    unknown: unknownKey(),
    mistyped: wrongChecksum(org.secretKey),
    cut: org.secretKey.slice(0, -1),
  })
  for (const key of Object.values(keys)) await useEverywhere(key)
  await server.cubby('keys', 'list', '--org', org.name)
})
afterAll(async () => {
  await server.stop()
})

/** Sends the key in all places where callers put keys, rightly and wrongly. */
const useEverywhere = async (key: string): Promise<void> => {
  const caller = server.as(key)
  await caller.get('/v1/app/notes')
  await caller.put('/v1/app/notes', { hashKey: 'a', data: { a: 1 } })
  await caller.get('/v1/app/notes/a')
  await caller.post('/v1/app/notes/query', { index: 'i1', hash: 1 })
  await caller.get('/api/keys')
  const placed: [string, Record<string, string>][] = [
    ['/v1', { authorization: key }],
    ['/v1', { authorization: `Basic ${key}` }],
    ['/v1', { authorization: `Bearer  ${key} ` }],
    ['/v1', { authorization: `Bearer ${key} ${key}` }],
    ['/v1', { authorization: `Bearer "${key}"` }],
    ['/v1', { authorization: `Bearer ${key},` }],
    ['/v1', { 'x-api-key': key }],
    ['/v1', { cookie: `key=${key}` }],
    ['/v1', { 'x-request-id': key }],
    ['/v1', { 'x-request-id': `id-${key}-id` }],
    ['/v1', { 'user-agent': key, referer: `http://127.0.0.1/?key=${key}` }],
    [`/v1?key=${key}`, {}],
    [`/v1?${key}`, {}],
    [`/v1?limit=${key}`, { authorization: `Bearer ${key}` }],
    [`/v1?cursor=${key}`, { authorization: `Bearer ${key}` }],
    [`/v1?key=${key.replaceAll('_', '%5F')}`, {}],
    [`/v1/${key}`, { authorization: `Bearer ${key}` }],
    [`/${key}`, {}],
    [`/healthz?key=${key}`, {}],
    [`/readyz?key=${key}`, {}],
    [`/nowhere/${key}`, {}],
  ]
  for (const [path, headers] of placed) await server.request('GET', path, { headers })
  await server.request('PUT', `/v1/app/notes?key=${key}`, { body: '{"hashKey":', headers: { authorization: key } })
  await server.request('PATCH', `/v1/app/notes?key=${key}`)
  await server.request('OPTIONS', `/v1/app/notes?key=${key}`)
  const doubled: [string, string][] = [
    ['Authorization', `Bearer ${key}`],
    ['Authorization', `Bearer ${key}`],
  ]
  await server.raw('GET', '/v1', { headers: doubled })
}

/** The secret part of a key: without the prefix, which is known, and in any spelling of a path. */
const secretPart = (key: string): string => key.replace(/^svc_(live|pub)_/, '')

describe('no API key ever', () => {
  test('in a log, wherever in a request the caller put it', () => {
    const log = server.logLines.join('\n')
    // The traffic is in the log at all.
    expect(server.log.filter(({ message }) => message === 'request').length).toBeGreaterThan(100)
    for (const [what, key] of Object.entries(keys)) {
      expect({ what, found: server.logLines.filter((line) => line.includes(secretPart(key))) }).toEqual({
        what,
        found: [],
      })
    }
    expect(log).not.toMatch(/svc_(live|pub)_[0-9A-Za-z]{30,}/)
  })

  // An error repeats what it rejects. If a caller sends the key in the wrong place, it must not be in the logs of a proxy or
  // client, which store responses.
  test('in an error that repeats what the caller sent', async () => {
    const caller = server.as(keys.secret!)
    for (const key of [keys.public!, keys.unknown!, `x${keys.cut}`]) {
      const quoted = JSON.stringify(key)
      const requests: [string, string, string?][] = [
        ['GET', `/v1/app/notes/a?${key}=1`],
        ['GET', `/v1/app/notes/a?${key.replaceAll('_', '%5F')}`],
        ['GET', `/v1?limit=${key}`],
        ['GET', `/v1/app?deleted=${key}`],
        ['GET', `/v1/${key}`],
        ['POST', `/v1/app/${key}`],
        ['POST', '/v1/app/more', `{${quoted}:1}`],
        ['POST', '/v1/app/more', `{${quoted}:1,${quoted}:2}`],
        ['POST', '/v1/app/more', `{"indices":{${quoted}:{}}}`],
        ['POST', '/v1/app/more', `{"indices":{"i1":{${quoted}:""}}}`],
        ['POST', '/v1/app/more', `{"indices":${quoted}}`],
        ['PUT', '/v1/app/notes', `{"hashKey":"a","data":{},${quoted}:1}`],
        ['PUT', '/v1/app/notes', `{"hashKey":"a","data":{},${quoted.replaceAll('_', '\\u005f')}:1}`],
        ['PUT', '/v1/app/notes', `{"hashKey":"a","data":${quoted}}`],
        ['PUT', '/v1/app/notes', `{"hashKey":"a","data":{},"ttl":${quoted}}`],
        ['PUT', '/v1/app/notes', `{"hashKey":${key}}`],
        ['POST', '/v1/app/notes/batch', `{"operations":[{"op":${quoted}}]}`],
        ['POST', '/v1/app/notes/batch', `{"operations":[{"op":"delete","hashKey":"a",${quoted}:1}]}`],
        ['POST', '/v1/app/notes/query', `{"hash":"a","range":{${quoted}:1}}`],
        ['POST', '/v1/app/notes/query', `{"index":${quoted}}`],
        ['POST', '/v1/app/notes/query', `{"hash":"a","cursor":${quoted}}`],
        ['POST', '/api/keys', `{"kind":${quoted}}`],
        ['POST', '/api/keys', `{"kind":"public","databases":[${quoted}]}`],
        ['POST', '/v1/app/notes/restore', `{"deletedAt":${quoted}}`],
        ['DELETE', `/api/keys/${key}`],
      ]
      for (const [method, path, body] of requests) {
        const answer = await caller.request(method, path, body)
        const request = `${method} ${path} ${body ?? ''}`
        expect({ request, refused: answer.status >= 400 && answer.status < 500 }).toEqual({ request, refused: true })
        const start = secretPart(key.replace(/^x/, '')).slice(0, 8)
        expect({ request, text: answer.text, found: answer.text.includes(start) }).toMatchObject({ found: false })
      }
    }
    const named = await caller.get(`/v1/app/notes/a?${keys.secret}=1`)
    expect(named.body.error).toMatchObject({ code: 'invalid_request', field: 'svc_live_****' })
    expect(named.body.error.message).toStartWith('svc_live_**** is not')
  })

  test('in an error of the command line', async () => {
    for (const args of [
      ['keys', keys.secret!],
      ['verify', keys.secret!],
      ['keys', 'list', '--org', keys.secret!],
    ]) {
      const { exitCode, stderr } = await server.cubby(...args)
      expect(exitCode).toBeGreaterThan(0)
      expect(stderr).toContain('svc_live_****')
      expect(stderr).not.toContain(secretPart(keys.secret!))
    }
  })

  test('on standard output', () => {
    expect(server.stdout).toBe('')
  })

  test.skipIf(!storeIsEmbedded())('in a file of the data directory, running, killed, or stopped', async () => {
    expectNoKeyInFiles()
    await server.kill()
    expectNoKeyInFiles()
    await server.start()
    ok(await server.as(keys.secret!).get('/v1'))
    expect(await server.end('SIGTERM')).toBe(0)
    expectNoKeyInFiles()
    await server.start()
  })

  test('in a listing', async () => {
    const answer = await server.as(keys.secret!).get('/api/keys')
    expect(answer.body.keys.length).toBeGreaterThan(3)
    for (const key of Object.values(keys)) expect(answer.text).not.toContain(secretPart(key))
  })
})

const expectNoKeyInFiles = (): void => {
  const files = readdirSync(server.dataDir)
  expect(files).toContain('cubby.db')
  for (const file of files) {
    const bytes = readFileSync(join(server.dataDir, file))
    for (const [what, key] of Object.entries(keys)) {
      expect({ file, what, at: bytes.indexOf(secretPart(key)) }).toEqual({ file, what, at: -1 })
    }
  }
}
