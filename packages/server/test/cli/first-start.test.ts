import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import {
  cubbyCommand,
  eventually,
  type Json,
  makeTempDir,
  removeTempDir,
  runCubby,
  runCubbyJson,
  storeArguments,
  storeIsEmbedded,
  typedCommand,
} from '../harness.ts'
import { ok } from '../http/service.ts'
import { onTerminal } from './on-terminal.ts'
import { endAllServing, type ServeProcess, spawnServe } from './serve-process.ts'

setDefaultTimeout(120_000)

const secretPattern = /svc_live_[0-9A-Za-z]{38}/g
const publicPattern = /svc_pub_[0-9A-Za-z]{38}/g

let top: string
/** The directory is not there yet: the first start makes it. */
let dir: string
beforeEach(() => {
  top = makeTempDir()
  dir = join(top, 'data')
})
afterEach(async () => {
  await endAllServing()
  removeTempDir(top)
})

/** Starts, stops and gives what the process printed. A stop waits for what the start still has to do. */
const startAndStop = async (args: string[] = [], env: Record<string, string> = {}): Promise<ServeProcess> => {
  const serving = spawnServe({ dataDir: dir, args, env })
  await serving.ready
  expect(await serving.end()).toBe(0)
  return serving
}

const organizations = async (): Promise<string[]> =>
  (await runCubbyJson(dir, ['orgs', 'list'])).organizations.map(({ name }: { name: string }) => name)

/** The lines that a newcomer copies into a shell. */
const commandsIn = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(export|curl) /.test(line))

/** Runs them all in one shell, unchanged. Returns the response of each curl. */
const runCommands = async (lines: string[]): Promise<Json[]> => {
  const script = ['set -eu', ...lines].join('\n')
  const child = Bun.spawn(['bash', '-c', script], { stdin: 'ignore', stdout: 'pipe', stderr: 'ignore' })
  const stdout = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

// "default" with new keys would look like the deleted one, without its data.
test('a store whose only organization is deleted, or was purged, makes no other one, and says how', async () => {
  await startAndStop()
  const deleted = await runCubby(['orgs', 'delete', 'default', '--confirm', 'default', ...storeArguments(dir)])
  expect(deleted).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('cubby orgs create NAME') })
  const again = await startAndStop()
  expect(again.stdout).not.toMatch(/svc_/)
  expect(again.stdout).toContain('npx cubbydb orgs create NAME')
  expect(await organizations()).toEqual(['default'])
  expect((await runCubby(['orgs', 'restore', 'default', ...storeArguments(dir)])).exitCode).toBe(0)
  expect((await startAndStop()).stdout).toContain('--org default')
})

describe('the very first start', () => {
  test.skipIf(Bun.which('curl') === null || Bun.which('bash') === null)(
    'prints a secret and a public key with curl lines that work',
    async () => {
      const serving = spawnServe({ dataDir: dir })
      await serving.ready
      const { server } = serving
      // The banner follows the start-up line.
      await eventually('the commands', () => (commandsIn(serving.stdout).length >= 2 ? true : undefined))
      expect(serving.stdout).toEndWith('\n')
      const [secretKey] = serving.stdout.match(secretPattern)!
      const [publicKey] = serving.stdout.match(publicPattern)!
      const [table, record, ...more] = await runCommands(commandsIn(serving.stdout))
      expect(table.status).toBe('active')
      for (const answer of more) expect(answer).not.toHaveProperty('error')
      const path = `/v1/${table.db}/${table.table}/${encodeURIComponent(record.hashKey)}`
      expect(ok(await server.as(publicKey!).get(path))).toEqual(record)
      expect(await organizations()).toEqual(['default'])
      // The one other key is that of the sign-in link: console.test.ts.
      const [, linkKey] = /#key=(svc_live_\w+)\n/.exec(serving.stdout)!
      expect(new Set(serving.stdout.match(secretPattern))).toEqual(new Set([secretKey!, linkKey!]))
      expect(await serving.end()).toBe(0)
      expect(serving.stderr).not.toMatch(/svc_(live|pub)_/)
    },
  )

  test('a second start prints none, and the first keys still work', async () => {
    const first = await startAndStop()
    const [secretKey] = first.stdout.match(secretPattern)!
    const second = spawnServe({ dataDir: dir })
    await second.ready
    ok(await second.server.as(secretKey!).get('/v1'))
    expect(await second.end()).toBe(0)
    expect(second.stdout).not.toMatch(/svc_/)
  })

  test('names the page with the documentation, which is there', async () => {
    const serving = spawnServe({ dataDir: dir })
    await serving.ready
    const docs = await eventually('the greeting', () => /documented at (\S+)\n/.exec(serving.stdout)?.[1])
    expect(docs).toBe(`${serving.server.url}/docs`)
    expect((await fetch(docs)).status).toBe(200)
    expect(await serving.end()).toBe(0)
  })

  test('with --public-url the greeting uses that address', async () => {
    const { stdout } = await startAndStop(['--public-url', 'https://cubby.example.com/'])
    expect(stdout).toContain('export CUBBY_URL=https://cubby.example.com CUBBY_KEY=svc_live_')
    expect(stdout).toContain('documented at https://cubby.example.com/docs\n')
    expect(stdout).not.toMatch(/http:\/\//)
  })

  test('with --no-bootstrap prints none and makes no organization; a later start without it does', async () => {
    for (const [args, env] of [
      [['--no-bootstrap'], {}],
      [[], { CUBBY_NO_BOOTSTRAP: '1' }],
    ] as const) {
      expect((await startAndStop([...args], env)).stdout).toBe('')
      expect(await organizations()).toEqual([])
    }
    expect((await startAndStop()).stdout).toMatch(secretPattern)
    expect(await organizations()).toEqual(['default'])
  })

  test('on a store that has an organization already prints none', async () => {
    expect((await runCubby(['orgs', 'create', 'acme', ...storeArguments(dir)])).exitCode).toBe(0)
    const { stdout } = await startAndStop()
    expect(stdout).not.toMatch(/svc_/)
    // There is no organization "default" to name.
    expect(stdout).toContain(`${typedCommand} keys create --org NAME --kind secret`)
    expect(await organizations()).toEqual(['acme'])
  })

  test('of several processes that start at once, one prints keys', async () => {
    const all = Array.from({ length: 3 }, () => spawnServe({ dataDir: dir }))
    const up = await Promise.all(all.map((serving) => serving.ready.then(() => serving).catch(() => undefined)))
    const serving = up.filter((one) => one !== undefined)
    // Of the embedded engine there is one server at a time; others share the store.
    expect(serving.length).toBe(storeIsEmbedded() ? 1 : all.length)
    for (const one of serving) expect(await one.end()).toBe(0)
    expect(all.filter(({ stdout }) => /svc_live_/.test(stdout)).length).toBe(1)
    expect(all.flatMap(({ stdout }) => stdout.match(/#key=/g) ?? []).length).toBe(1)
    // Neither has a key been made that nobody was shown.
    expect((await runCubbyJson(dir, ['keys', 'list', '--org', 'default'])).keys.length).toBe(3)
    expect(await organizations()).toEqual(['default'])
  })
})

test('on a terminal the first line is for people, and the log does not repeat it; elsewhere it is in the log', async () => {
  const place = storeArguments(dir)
  const serving = onTerminal(['serve', ...place, '--port', '0', '--no-bootstrap'])
  const url = await eventually('the line', () => /http:\/\/127\.0\.0\.1:\d+/.exec(serving.text())?.[0])
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  expect(await serving.end()).toBe(0)
  const [first, ...rest] = serving.text().split('\n')
  expect(first).toStartWith(`Cubby is listening on ${url}, with the store in `)
  expect(first).toEndWith('. Ctrl+C stops it.')
  if (storeIsEmbedded()) expect(first).toContain(dir)
  expect(rest.join('\n')).not.toContain('listening')
  const { stdout, log } = await startAndStop(['--no-bootstrap'])
  expect(stdout).toBe('')
  expect(log[0]).toMatchObject({ level: 'info', message: 'listening' })
})

// The command for a PostgreSQL store: serve-flags.test.ts.
describe.skipIf(!storeIsEmbedded())('a later start', () => {
  /** The store is as the first start leaves it. */
  const makeStore = () => runCubbyJson(dir, ['orgs', 'create', 'default'])

  /** The line for those who have lost the first keys, as they copy it. */
  const keyCommand = (stdout: string): string =>
    new RegExp(`^To create another API key: ${typedCommand} (.+)$`, 'm').exec(stdout)![1]!

  /** Runs it with a shell, as it stands, but with the program of this repository. */
  const runInShell = async (command: string): Promise<string> => {
    const child = Bun.spawn(['sh', '-c', `"$@" ${command} --json`, 'sh', ...cubbyCommand()], {
      stdin: 'ignore',
      stdout: 'pipe',
    })
    const text = await new Response(child.stdout).text()
    expect([command, await child.exited]).toEqual([command, 0])
    return text
  }

  for (const workers of ['1', '2']) {
    test(`says how to create another key, in one line that works (--workers ${workers})`, async () => {
      dir = join(top, "it's a data directory")
      await makeStore()
      const later = spawnServe({ dataDir: dir, args: ['--workers', workers] })
      await later.ready
      const command = await eventually('the line', () =>
        /create another.*\n/.test(later.stdout) ? keyCommand(later.stdout) : undefined,
      )
      expect(command).toStartWith('keys create --org default --kind secret --')
      const { key } = JSON.parse(await runInShell(command))
      ok(await later.server.as(key).get('/v1'))
      expect(await later.end()).toBe(0)
      expect(later.stderr).not.toMatch(/svc_(live|pub)_/)
      const { url } = later.server
      const sameStore = command.slice(command.indexOf('--data'))
      expect(later.stdout.split('\n')).toEqual([
        `The console is at ${url}/console`,
        `The API is documented at ${url}/docs`,
        `To create another API key: ${typedCommand} ${command}`,
        `To sign in to the console by a link: ${typedCommand} console link --org default --url ${url} ${sameStore}`,
        '',
      ])
    })
  }

  test('without flags the command needs none: the default and the environment are the same for it', async () => {
    for (const [env, place] of [
      [{}, join(top, 'cubby-data')],
      [{ CUBBY_DATA: dir }, dir],
    ] as const) {
      for (const start of ['first', 'later']) {
        const serving = spawnServe({ dataDir: place, bare: true, args: ['--port', '0'], env, cwd: top })
        await serving.ready
        expect(await serving.end()).toBe(0)
        if (start === 'later') expect(keyCommand(serving.stdout)).toBe('keys create --org default --kind secret')
      }
    }
  })

  test('with --no-bootstrap prints nothing', async () => {
    await makeStore()
    expect((await startAndStop(['--no-bootstrap'])).stdout).toBe('')
  })
})
