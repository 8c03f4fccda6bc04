import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTerminal } from '../cli/on-terminal.ts'
import { content } from '../files/blob-fixture.ts'
import {
  cubbyCommand,
  eventually,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
} from '../harness.ts'
import { sha256 } from '../http/bucket.ts'
import { ok } from '../http/service.ts'
import { asClient, expectDone, linesOf, runCommand, startCommand } from './commands.ts'

// The files of a bucket from the shell.

setDefaultTimeout(120_000)

let server: Server
let org: Organization
let dir: string
let env: Record<string, string | undefined>

beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer({ shared: true })
  org = await server.createOrganization('acme')
  env = { ...asClient(server, org), CUBBY_DB: 'app' }
  ok(await server.as(org.secretKey).post('/v1/app/_buckets/photos'), 201)
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

const files = (args: string[], stdin?: string | Uint8Array) => expectDone(['files', ...args], { env, stdin })
const failing = async (args: string[], stdin?: string): Promise<string> => {
  const { exitCode, stdout, stderr } = await runCommand(['files', ...args], { env, stdin })
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
  return stderr.slice('cubby: '.length).trimEnd()
}
const write = (name: string, bytes: string | Uint8Array): string => {
  writeFileSync(join(dir, name), bytes)
  return join(dir, name)
}

describe('put and get', () => {
  test('a file: its name and type follow its own; the bytes come back to a file and to a pipe', async () => {
    const bytes = content(3_000_000)
    const record = JSON.parse(await files(['put', 'photos', write('Tom.PNG', bytes)]))
    expect(record).toMatchObject({ name: 'Tom.PNG', size: bytes.length, contentType: 'image/png', metadata: {} })
    expect(record).toMatchObject({ sha256: sha256(bytes), visibility: 'private', url: null })
    const out = join(dir, 'out.gz')
    expect(await files(['get', 'photos', 'Tom.PNG', '-o', out])).toBe('')
    expect(sha256(readFileSync(out))).toBe(sha256(bytes))
    const piped = Bun.spawnSync([...cubbyCommand(), 'files', 'get', 'photos', 'Tom.PNG'], {
      env: { ...process.env, ...env },
    })
    expect(sha256(piped.stdout)).toBe(sha256(bytes))
  })

  test('standard input, with everything that can be said of a file', async () => {
    const name = 'a/b c/ü?#%.txt'
    const flags = ['--visibility', 'public', '--type', 'text/plain; charset=utf-8', '--ttl', '2099-01-01T00:00:00Z']
    const text = await files(['put', 'photos', name, '-', ...flags, '--metadata', '{"n":1.0, "s":"+ &"}'], 'piped')
    expect(text).toContain('"metadata":{"n":1.0, "s":"+ &"}')
    expect(JSON.parse(text)).toMatchObject({
      name,
      size: 5,
      visibility: 'public',
      contentType: 'text/plain; charset=utf-8',
      ttl: 4_070_908_800,
    })
    expect(await files(['get', 'photos', name])).toBe('piped')
    expect(await files(['get', 'photos', name, '--out', '-'])).toBe('piped')
  })

  test('empty files, files that say no size, and names that look like verbs of the API', async () => {
    expect(JSON.parse(await files(['put', 'photos', write('empty', '')]))).toMatchObject({ size: 0 })
    expect(await files(['get', 'photos', 'empty'])).toBe('')
    expect(JSON.parse(await files(['put', 'photos', 'query', '/proc/version']))).toMatchObject({
      size: readFileSync('/proc/version').length,
    })
    expect(await files(['get', 'photos', 'query'])).toBe(readFileSync('/proc/version', 'utf8'))
    expect(JSON.parse(await files(['put', 'photos', 'null', '/dev/null']))).toMatchObject({ size: 0 })
  })

  test('conditions: only a new file, only this version', async () => {
    const file = write('v.txt', 'one')
    const { updatedAt } = JSON.parse(await files(['put', 'photos', file, '--if-absent']))
    expect(await failing(['put', 'photos', file, '--if-absent'])).toStartWith(`The file is at version ${updatedAt}`)
    expect(await failing(['put', 'photos', file, '--if-match', '1'])).toBe(
      `The file is at version ${updatedAt}; nothing was changed. Write with that version, after you have read the record again: cubby files list photos --prefix v.txt --json --db app`,
    )
    await files(['put', 'photos', file, '--if-match', String(updatedAt)])
    expect(await failing(['put', 'photos', 'x y', file, '--if-match', '*'])).toStartWith('The file does not exist')
  })

  test('what cannot be sent or received: one line, and no file', async () => {
    expect(await failing(['put', 'photos', join(dir, 'nothing')])).toContain('cannot be read: ENOENT')
    expect(await failing(['put', 'photos', dir])).toBe(`${dir} cannot be read: it is a directory`)
    expect(await failing(['put', 'nobucket', 'a', '-'], 'x')).toContain('cubby bucket create nobucket --db app')
    const out = join(dir, 'never')
    expect(await failing(['get', 'photos', 'nothing', '-o', out])).toBe(
      'There is no file "nothing" in the bucket. List the files of the bucket: cubby files list photos --db app',
    )
    expect(await failing(['get', 'photos', 'empty', '-o', join(dir, 'no/where')])).toContain('cannot be written')
    expect(await failing(['get', 'photos', 'empty', '-o', dir])).toContain('cannot be written')
    expect(readdirSync(dir).filter((name) => /never|partial/.test(name))).toEqual([])
  })

  test('an existing file stays unless --force is given', async () => {
    const out = write('mine', 'precious')
    await files(['put', 'photos', 'theirs', '-'], 'theirs')
    expect(await failing(['get', 'photos', 'theirs', '-o', out])).toBe(
      `${out} exists and is not overwritten; --force replaces it`,
    )
    // Judged before the request, which may be for a large file.
    expect(await failing(['get', 'photos', 'not there', '-o', out])).toContain('exists and is not overwritten')
    expect(readFileSync(out, 'utf8')).toBe('precious')
    chmodSync(out, 0o640)
    await files(['get', 'photos', 'theirs', '-o', out, '--force'])
    expect(readFileSync(out, 'utf8')).toBe('theirs')
    expect(statSync(out).mode & 0o777).toBe(0o640)
    const longest = join(dir, 'n'.repeat(255))
    await files(['get', 'photos', 'theirs', '-o', longest])
    expect(readFileSync(longest, 'utf8')).toBe('theirs')
    // Written directly: a rename would replace the device.
    await files(['get', 'photos', 'theirs', '-o', '/dev/null'])
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
  })
})

// A cut or a changed transfer that looks like a success would lose a file for good.
describe('a server or proxy that does not deliver', () => {
  const against = async (
    answer: (request: Request) => Response | Promise<Response>,
    args: string[],
    stdin?: string,
  ): Promise<string> => {
    const fake = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
    try {
      const url = `http://127.0.0.1:${fake.port}`
      const result = await runCommand(['files', ...args], { env: { ...env, CUBBY_URL: url }, stdin })
      expect(result.exitCode).toBe(1)
      return result.stderr.replaceAll(url, 'URL')
    } finally {
      await fake.stop(true)
    }
  }
  const out = (): string => join(dir, 'broken')
  const get = (): string[] => ['get', 'photos', 'a', '-o', out()]
  const etag = `"${sha256('the bytes')}"`

  test('other bytes, fewer bytes, an answer that breaks off: exit 1, no file', async () => {
    const other = await against(() => new Response('THE BYTES', { headers: { etag } }), get())
    expect(other).toContain('the bytes that arrived are not those of the file')
    const fewer = await against(() => new Response('the byte', { headers: { etag } }), get())
    expect(fewer).toContain('the bytes that arrived are not those of the file')
    const cut = Bun.listen({
      port: 0,
      hostname: '127.0.0.1',
      socket: {
        data: (socket) => void socket.end(`HTTP/1.1 200 OK\r\nETag: ${etag}\r\nContent-Length: 9\r\n\r\nthe `),
      },
    })
    const broken = await runCommand(['files', ...get()], { env: { ...env, CUBBY_URL: `http://127.0.0.1:${cut.port}` } })
    cut.stop(true)
    expect([broken.exitCode, broken.stderr]).toEqual([1, expect.stringMatching(/^cubby: the answer of .* broke off: /)])
    expect(readdirSync(dir).filter((name) => name.startsWith('broken'))).toEqual([])
    await against(() => new Response('<!doctype html>'), get())
    expect(existsSync(out())).toBe(false)
    write('broken', 'precious')
    await against(() => new Response('the byte', { headers: { etag } }), [...get(), '--force'])
    expect(readFileSync(out(), 'utf8')).toBe('precious')
  })

  test.each([
    ['SIGHUP', 129],
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('stopped by %s: nothing is left behind', async (signal, code) => {
    const slow = Bun.listen({
      port: 0,
      hostname: '127.0.0.1',
      socket: {
        data: (socket) => void socket.write(`HTTP/1.1 200 OK\r\nETag: ${etag}\r\nContent-Length: 9\r\n\r\nthe `),
      },
    })
    const child = startCommand(['files', 'get', 'photos', 'a', '-o', join(dir, 'stopped')], {
      env: { ...env, CUBBY_URL: `http://127.0.0.1:${slow.port}` },
    })
    const left = (): string[] => readdirSync(dir).filter((name) => name.startsWith('stopped'))
    await eventually('the file is being written', () => (left().length > 0 ? true : undefined))
    child.kill(signal)
    expect((await child.result).exitCode).toBe(code)
    slow.stop(true)
    expect(left()).toEqual([])
  })

  test.skipIf(process.platform !== 'linux')('under nohup a terminal that is closed does not stop it', async () => {
    let finish = (): void => {}
    const slow = Bun.listen({
      port: 0,
      hostname: '127.0.0.1',
      socket: {
        data: (socket) => {
          socket.write(`HTTP/1.1 200 OK\r\nETag: ${etag}\r\nContent-Length: 9\r\n\r\nthe `)
          finish = () => void socket.write('bytes')
        },
      },
    })
    const out = join(dir, 'nohup')
    const child = Bun.spawn(['nohup', ...cubbyCommand(), 'files', 'get', 'photos', 'a', '-o', out], {
      env: { ...process.env, ...env, CUBBY_URL: `http://127.0.0.1:${slow.port}` },
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    const begun = (): boolean => readdirSync(dir).some((name) => name.startsWith('nohup.'))
    await eventually('the file is being written', () => begun() || undefined)
    child.kill('SIGHUP')
    await Bun.sleep(100)
    finish()
    expect(await child.exited).toBe(0)
    slow.stop(true)
    expect(readFileSync(out, 'utf8')).toBe('the bytes')
  })

  test('other bytes were stored than were sent: exit 1', async () => {
    const said = await against(
      async (request) => {
        await request.bytes()
        return Response.json({ name: 'a', sha256: sha256('other') })
      },
      ['put', 'photos', 'a', '-'],
      'the bytes',
    )
    expect(said).toContain('the server has stored other bytes than those that were sent')
  })

  test('busy: a file is sent again, bytes of a pipe are not', async () => {
    let tries = 0
    const busy = async (request: Request): Promise<Response> => {
      const bytes = await request.bytes()
      if (++tries > 1) return Response.json({ name: 'a', sha256: sha256(bytes) })
      const error = { code: 'unavailable', message: 'Busy.', requestId: 'r' }
      return Response.json({ error }, { status: 503 })
    }
    expect(await against(busy, ['put', 'photos', 'a', '-'], 'x')).toContain('Busy.')
    const fake = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: busy })
    tries = 0
    const answer = await expectDone(['files', 'put', 'photos', write('again', 'again')], {
      env: { ...env, CUBBY_URL: `http://127.0.0.1:${fake.port}` },
    })
    await fake.stop(true)
    expect([tries, JSON.parse(answer).sha256]).toEqual([2, sha256('again')])
  })
})

describe('list, url and rm', () => {
  const names = ['a/1', 'a/2', 'b \u202etxt.exe', 'ä']
  beforeAll(async () => {
    const api = server.as(org.secretKey)
    ok(await api.post('/v1/app/_buckets/listed'), 201)
    for (const name of names) {
      const path = `/v1/app/_buckets/listed/${name.split('/').map(encodeURIComponent).join('/')}?visibility=public`
      ok(await api.put(path, name))
    }
    await files(['put', 'listed', 'c', '-'], 'private')
  })

  test('list of what is not there prints nothing but the error', async () => {
    expect(await failing(['list', 'nobucket'])).toContain('nobucket')
    ok(await server.as(org.secretKey).post('/v1/app/_buckets/bare'), 201)
    expect(linesOf(await files(['list', 'bare']))).toEqual(['UPDATED                     SIZE  VISIBILITY  NAME'])
  })

  test('list: by name, by prefix, the newest first; as a table and as JSON', async () => {
    const listed = linesOf(await files(['list', 'listed']))
    expect(listed[0]).toBe('UPDATED                     SIZE  VISIBILITY  NAME')
    expect(listed.slice(1).map((line) => line.slice(46))).toEqual(['a/1', 'a/2', 'b \\u202etxt.exe', 'c', 'ä'])
    expect(listed[4]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {11}7 {2}private {5}c$/)
    const json = linesOf(await files(['list', 'listed', '--json', '--prefix', 'a/'])).map((line) => JSON.parse(line))
    expect(json.map(({ name, size }) => [name, size])).toEqual([
      ['a/1', 3],
      ['a/2', 3],
    ])
    expect(linesOf(await files(['list', 'listed', '--newest', '--limit', '2'])).map((line) => line.slice(46))).toEqual([
      'NAME',
      'c',
      'ä',
    ])
    const asPublic = await expectDone(['files', 'list', 'listed', '--prefix', 'c'], {
      env: { ...env, CUBBY_KEY: org.publicKey },
    })
    expect(linesOf(asPublic)).toEqual([listed[0]!])
  })

  test('list --folders: a line for each folder, in order of the names, which --limit counts', async () => {
    const listed = linesOf(await files(['list', 'listed', '--folders']))
    expect(listed.slice(1).map((line) => line.slice(46))).toEqual(['a/', 'b \\u202etxt.exe', 'c', 'ä'])
    expect(listed[1]).toMatch(/^- {30}- {2}- {11}a\/$/)
    const json = linesOf(await files(['list', 'listed', '--folders', '--limit', '2', '--json'])).map((line) =>
      JSON.parse(line),
    )
    expect(json).toEqual([{ folder: 'a/' }, expect.objectContaining({ name: 'b \u202etxt.exe', size: 12 })])
    const inside = linesOf(await files(['list', 'listed', '--folders', '--prefix', 'a/']))
    expect(inside.slice(1).map((line) => line.slice(46))).toEqual(['a/1', 'a/2'])
  })

  test('on a terminal: names are harmless, bytes are not written to it unless --out - says so', async () => {
    const terminal = async (...args: string[]): Promise<[number, string]> => {
      const child = onTerminal(['files', ...args], env)
      return [await child.exited, child.text()]
    }
    const [listed, json, refused, written] = await Promise.all([
      terminal('list', 'listed', '--prefix', 'b'),
      terminal('list', 'listed', '--prefix', 'b', '--json'),
      terminal('get', 'listed', 'c'),
      terminal('get', 'listed', 'c', '--out', '-'),
    ])
    for (const [code, text] of [listed, json]) {
      expect([code, text.includes('\u202e')]).toEqual([0, false])
      expect(text).toContain('b \\u202etxt.exe')
    }
    expect(refused).toEqual([2, expect.stringContaining('standard output is a terminal; give --out FILE')])
    expect(written).toEqual([0, 'private'])
  })

  test('url: permanent, signed, to save, and for an upload', async () => {
    const read = async (url: string, init?: RequestInit) => {
      const answer = await fetch(url.trim(), init)
      return [answer.status, await answer.text(), answer.headers.get('content-disposition')] as const
    }
    const permanent = await files(['url', 'listed', 'a/1'])
    expect(permanent).not.toContain('signature')
    expect((await read(permanent)).slice(0, 2)).toEqual([200, 'a/1'])
    const signed = JSON.parse(
      await files(['url', 'listed', 'c', '--expires', '1h', '--download-as', 'x y.txt', '--json']),
    )
    expect(signed.expiresAt - Date.now()).toBeGreaterThan(50 * 60_000)
    expect(signed.expiresAt - Date.now()).toBeLessThanOrEqual(3_600_000)
    const [status, text, disposition] = await read(signed.url)
    expect([status, text]).toEqual([200, 'private'])
    expect(disposition).toContain('attachment; filename="x y.txt"')
    const flags = [
      '--put',
      '--size-max',
      '9',
      '--visibility',
      'public',
      '--metadata',
      '{"n":1.0}',
      '--type',
      'text/css',
    ]
    const upload = await files(['url', 'listed', 'new', '--expires', '60', ...flags])
    expect((await read(upload, { method: 'PUT', body: 'ten bytes!' }))[0]).toBe(413)
    const headers = { 'content-type': 'text/css' }
    const [made, record] = await read(upload, { method: 'PUT', body: 'nine byte', headers })
    expect([made, record]).toEqual([200, expect.stringContaining('"metadata":{"n":1.0}')])
    expect((await read(upload, { method: 'PUT', body: 'again', headers }))[0]).toBe(412)
    expect(await failing(['url', 'listed', 'nothing'])).toContain('cubby files list listed --db app')
  })

  test('rm: each name on its own line; 0 also for one that is not there; a condition', async () => {
    for (const name of ['x', 'y z']) await files(['put', 'listed', name, '-'], name)
    expect(linesOf(await files(['rm', 'listed', 'x', 'not there', 'y z']))).toEqual([
      '{"name":"x","deleted":true}',
      '{"name":"not there","deleted":false}',
      '{"name":"y z","deleted":true}',
    ])
    expect(await failing(['rm', 'listed', 'c', '--if-match', '1'])).toStartWith('The file is at version')
    // The bucket has the name of the path above: it stays.
    expect(linesOf(await files(['list', 'listed'])).length).toBeGreaterThan(4)
  })
})
