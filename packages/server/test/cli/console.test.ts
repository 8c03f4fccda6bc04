import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  cubbyCommand,
  eventually,
  makeTempDir,
  removeTempDir,
  runCubby,
  runCubbyJson,
  Server,
  storeArguments,
  storeIsEmbedded,
  typedCommand,
} from '../harness.ts'
import { ok } from '../http/service.ts'
import { endAllServing, type ServeProcess, spawnServe } from './serve-process.ts'

setDefaultTimeout(120_000)

let dir: string
beforeEach(() => {
  dir = makeTempDir()
})
afterEach(async () => {
  await endAllServing()
  removeTempDir(dir)
})

const linkPattern = /(http\S+\/console)#key=(svc_live_[0-9A-Za-z]{38})$/gm

const linksIn = (text: string): { url: string; key: string }[] =>
  Array.from(text.matchAll(linkPattern), ([, url, key]) => ({ url: url!, key: key! }))

const startAndStop = async (args: string[] = []): Promise<ServeProcess> => {
  const serving = spawnServe({ dataDir: dir, args })
  await serving.ready
  expect(await serving.end()).toBe(0)
  return serving
}

describe('the sign-in link', () => {
  for (const workers of ['1', '2']) {
    test(`is printed once, by the first start, and its key dies after 15 minutes (--workers ${workers})`, async () => {
      const serving = spawnServe({ dataDir: dir, args: ['--workers', workers] })
      await serving.ready
      const [link, ...more] = await eventually('the link', () => {
        const links = linksIn(serving.stdout)
        return links.length > 0 ? links : undefined
      })
      expect(more).toEqual([])
      expect(link!.url).toBe(`${serving.server.url}/console`)
      expect((await fetch(link!.url)).headers.get('content-type')).toBe('text/html; charset=utf-8')

      const self = ok(await serving.server.as(link!.key).get('/api/keys/self'))
      expect(self).toMatchObject({
        ...{ kind: 'secret', name: 'console sign-in link', databases: null, status: 'active' },
        ...{ organization: 'default', expiresAt: self.createdAt + 15 * 60_000 },
      })
      // The keys that are shown beside it are others, and stay.
      const { keys } = ok(await serving.server.as(link!.key).get('/api/keys'))
      expect(keys.map((key: { expiresAt: number | null }) => key.expiresAt).sort()).toEqual([
        self.expiresAt,
        null,
        null,
      ])
      // The console creates a key of its own with it, and then revokes it.
      const own = ok(await serving.server.as(link!.key).post('/api/keys', { kind: 'secret' }), 201)
      ok(await serving.server.as(own.key).delete(`/api/keys/${self.id}`))
      expect((await serving.server.as(link!.key).get('/v1')).status).toBe(403)

      expect(await serving.end()).toBe(0)
      expect(linksIn(serving.stdout).length).toBe(1)
      expect(serving.stderr).not.toMatch(/svc_live_/)
      const later = await startAndStop(['--workers', workers])
      expect(later.stdout).toContain(`The console is at ${later.server.url}/console\n`)
      expect(later.stdout).not.toMatch(/svc_/)
    })
  }

  test('with --public-url it has that address', async () => {
    const { stdout } = await startAndStop(['--public-url', 'https://example.com/cubby'])
    expect(linksIn(stdout).map(({ url }) => url)).toEqual(['https://example.com/cubby/console'])
  })

  test('with --no-console there is none, no key for it, and later no address', async () => {
    const first = await startAndStop(['--no-console'])
    expect(first.stdout).not.toContain('console')
    const { keys } = await runCubbyJson(dir, ['keys', 'list', '--org', 'default'])
    expect(keys.length).toBe(2)
    expect((await startAndStop(['--no-console'])).stdout).not.toContain('console')
  })
})

describe('cubby console link', () => {
  const link = (...args: string[]) => runCubby(['console', 'link', ...args, ...storeArguments(dir)])

  test('prints a link for a store, while its server runs', async () => {
    await runCubbyJson(dir, ['orgs', 'create', 'acme'])
    const serving = spawnServe({ dataDir: dir })
    await serving.ready
    const { url } = serving.server
    for (const address of [url, `${url}/`]) {
      const { exitCode, stdout } = await link('--org', 'acme', '--url', address)
      expect(exitCode).toBe(0)
      const [{ url: page, key }] = linksIn(stdout) as [{ url: string; key: string }]
      expect(stdout).toBe(`${url}/console#key=${key}\n`)
      expect((await fetch(page)).status).toBe(200)
      const self = ok(await serving.server.as(key).get('/api/keys/self'))
      expect(self).toMatchObject({ organization: 'acme', kind: 'secret', databases: null })
      expect(self.expiresAt - self.createdAt).toBe(15 * 60_000)
    }
    expect(await serving.end()).toBe(0)
  })

  // With a PostgreSQL store the command has PASSWORD in the place of the password.
  test.skipIf(!storeIsEmbedded())('a later start prints the command, which works as it stands', async () => {
    await runCubbyJson(dir, ['orgs', 'create', 'default'])
    const { stdout } = await startAndStop(['--public-url', 'https://example.com/cubby'])
    const [, words] = new RegExp(`^To sign in to the console by a link: ${typedCommand} (.+)$`, 'm').exec(stdout)!
    expect(words).toStartWith('console link --org default --url https://example.com/cubby --')
    const child = Bun.spawn(['sh', '-c', `"$@" ${words}`, 'sh', ...cubbyCommand()], {
      stdin: 'ignore',
      stdout: 'pipe',
    })
    expect(linksIn(await new Response(child.stdout).text()).map(({ url }) => url)).toEqual([
      'https://example.com/cubby/console',
    ])
  })

  test('by default: the organization "default" at the default address; --json has the instant of its end', async () => {
    await runCubbyJson(dir, ['orgs', 'create', 'default'])
    const before = Date.now()
    const { link: text, expiresAt } = await runCubbyJson(dir, ['console', 'link'])
    expect(linksIn(text).map(({ url }) => url)).toEqual(['http://127.0.0.1:4600/console'])
    expect(expiresAt).toBeGreaterThanOrEqual(before + 15 * 60_000)
    expect(expiresAt).toBeLessThanOrEqual(Date.now() + 15 * 60_000)
  })

  test('says what is wrong: no such organization, no address of a server, no store', async () => {
    await runCubbyJson(dir, ['orgs', 'create', 'acme'])
    const none = await link()
    expect([none.exitCode, none.stdout]).toEqual([1, ''])
    expect(none.stderr).toContain('there is no organization default; see cubby orgs list')
    const wrong = await link('--org', 'acme', '--url', 'example.com')
    expect([wrong.exitCode, wrong.stdout]).toEqual([2, ''])
    expect(wrong.stderr).toContain('--url is "example.com"; it takes the address of a server')
    const nowhere = await runCubby(['console', 'link', '--data', join(dir, 'nothing')])
    expect([nowhere.exitCode, nowhere.stdout]).toEqual([1, ''])
  })
})

// A clone whose install scripts did not run. Without this the whole server would not start, for want of a page.
test('without its built files the server starts, says so once, and /console says how to build it', async () => {
  const root = resolve(import.meta.dir, '../../../..')
  const clone = join(dir, 'clone')
  for (const part of [
    'packages/server/src',
    'packages/server/package.json',
    'packages/client/src',
    'docs',
    'tsconfig.json',
  ])
    cpSync(join(root, part), join(clone, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  const dataDir = join(dir, 'data')
  const server = new Server({ dataDir, program: join(clone, 'packages/server/src/main.ts'), args: ['--workers', '2'] })
  await server.start()
  try {
    const hint = 'Run "npm run build -w packages/console" in the repository, then start the server again.'
    for (const path of ['/console', '/console/x.js', '/console']) {
      const answer = await server.raw('GET', path)
      expect(answer.status).toBe(404)
      expect(answer.body.error).toMatchObject({
        code: 'route_not_found',
        message: 'The console of this server is not built.',
        hint: `${hint} The API is documented at /docs, for agents at /SKILL.md.`,
      })
    }
    expect((await server.raw('GET', '/readyz')).status).toBe(200)
    expect(await server.end('SIGTERM')).toBe(0)
    const warnings = server.log.filter(({ level }) => level !== 'info')
    expect(warnings.map(({ message, hint }) => ({ message, hint }))).toEqual([
      { message: 'the console is not built', hint },
    ])
  } finally {
    await server.stop()
  }
})
