import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asClient, asOperator, type RunOptions, runCommand } from '../data-tools/commands.ts'
import {
  eventually,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { createKey, ok } from '../http/service.ts'
import { onTerminal } from './on-terminal.ts'

// Names of API keys, record keys and field names may hold any character, and whoever has a secret key chooses them. On
// the operator's terminal a control sequence would set its title, hide lines, or be typed into the shell.

setDefaultTimeout(120_000)

const hostile = 'x\u001b]0;owned\u0007\u001b[2J\r\n\u007f\u009b31m\u2028\u2029\u202egnp\u202c\u2066y\u2069'
/** The text as it is shown, which is the same for every way out. */
const shown =
  'x\\u001b]0;owned\\u0007\\u001b[2J\\u000d\\u000a\\u007f\\u009b31m\\u2028\\u2029\\u202egnp\\u202c\\u2066y\\u2069'
/** All but the line feed and the tab, which a terminal only moves on by. */
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/

let server: Server
let org: Organization
let dir: string
beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer()
  org = await server.createOrganization('acme')
  const api = server.as(org.secretKey)
  await createKey(api, { kind: 'public', name: hostile })
  ok(await api.post('/v1/app/notes', { indices: { i1: { hashField: hostile } } }), 201)
  // The data as text: what a client sends raw is kept raw.
  const body = `{"hashKey":${JSON.stringify(hostile)},"data":{"text":"\u007f\u009b31m\u202e", \r\n\t\r"n":1}}`
  ok(await api.put('/v1/app/notes', body))
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

const expectHarmless = (text: string): void => {
  expect(text).not.toBe('')
  expect(unprintable.exec(text)?.[0].charCodeAt(0)).toBeUndefined()
}

/** Both outputs of a command, on pipes. */
const outputOf = async (args: string[], options: RunOptions = {}): Promise<string> => {
  const { stdout, stderr } = await runCommand(args, options)
  expectHarmless(stdout + stderr)
  return stdout + stderr
}
const asCaller = (args: string[], stdin?: string) => outputOf(args, { env: asClient(server, org), stdin })

describe('is harmless and visible', () => {
  test('keys list: one line a key, its name escaped', async () => {
    const { stdout } = await server.cubby('keys', 'list', '--org', 'acme')
    expectHarmless(stdout)
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(4)
    expect(lines.filter((line) => line.endsWith(`  ${shown}`))).toHaveLength(1)
  })

  test('keys list --json: JSON that says exactly the name', async () => {
    const { stdout } = await server.cubby('keys', 'list', '--org', 'acme', '--json')
    expectHarmless(stdout)
    expect(JSON.parse(stdout).keys[0].name).toBe(hostile)
  })

  test('orgs list', async () => {
    const { stdout } = await server.cubby('orgs', 'list')
    expectHarmless(stdout)
    expect(stdout.split('\n')[1]).toStartWith('acme ')
  })

  test('table create, describe and list: JSON that says exactly the field name', async () => {
    for (const args of [
      ['create', 'notes', '--db', 'app', '--indices', JSON.stringify({ i1: { hashField: hostile } })],
      ['describe', 'notes', '--db', 'app'],
      ['list', '--db', 'app', '--json'],
    ]) {
      expect(JSON.parse(await asCaller(['table', ...args])).indices.i1.hashField).toBe(hostile)
    }
  })

  test('errors: of the call, of the command, of the server', async () => {
    // NUL cannot be in an argument, and neither is it here.
    expect(await outputOf([hostile])).toContain(shown)
    expect(await outputOf(['orgs', 'create', hostile, '--data', join(dir, 'none')])).toContain('\\u009b')
    expect(await outputOf(['keys', 'list', '--org', hostile, '--data', join(dir, 'none')])).toContain('no store')
    expect((await server.cubby('keys', 'list', '--org', hostile)).stderr).toContain(`no organization ${shown};`)
    expect(await outputOf(['import', join(dir, hostile)], { env: asClient(server, org) })).toContain(shown)
    expect(await asCaller(['query', '--db', 'app', '--table', 'notes', '--index', 'i2', '--hash', '1'])).toContain(
      shown,
    )
  })

  test('the lines that an import reports', async () => {
    const line = JSON.stringify({ db: 'app', table: 'notes', hashKey: 'a', data: {}, [hostile]: 1 })
    const said = await asCaller(['import', '-'], `${line}\n`)
    expect(said).toContain(`line 1: ${shown} is not a field`)
  })

  test.skipIf(!storeIsEmbedded())('the findings of verify', async () => {
    const copy = join(dir, 'damaged')
    mkdirSync(copy)
    const sound = new Database(join(server.dataDir, 'cubby.db'))
    sound.run('VACUUM INTO ?', [join(copy, 'cubby.db')])
    sound.close()
    const damaged = new Database(join(copy, 'cubby.db'))
    damaged.run(`UPDATE records SET i1_hash = CAST('x' AS BLOB), i1_range = CAST('' AS BLOB)`)
    damaged.close()
    expect(await outputOf(['verify', '--data', copy])).toContain('\\u009b31m\\u2028\\u2029\\u202egnp')
    // The summary for people follows on standard error.
    const [json] = (await outputOf(['verify', '--data', copy, '--json'])).split('\n')
    const { findings } = JSON.parse(json!)
    expect(findings[0]).toContain('\u009b31m')
  })

  test('the log, as lines of JSON and on a terminal', async () => {
    const dataDir = join(dir, hostile.slice(0, -1))
    // The log warns of this mode, and names the directory.
    if (storeIsEmbedded()) mkdirSync(dataDir, { mode: 0o755 })
    const args = ['serve', '--data', dataDir, '--port', '0', '--no-bootstrap']
    const serving = onTerminal(args)
    await eventually('the start', () => serving.text().includes('listening') || undefined)
    expect(await serving.end()).toBe(0)
    expectHarmless(serving.text())
    // A line feed, as in a stack trace, goes on below, where no entry begins.
    expect(serving.text()).toContain(shown.slice(0, -6).replace('\\u000a', '\n    '))
    const piped = await startServer({ dataDir: join(dir, hostile) })
    await piped.stop()
    for (const line of piped.logLines) expectHarmless(line)
    const listening = piped.log.find(({ message }) => message === 'listening')
    if (storeIsEmbedded()) expect(listening.data).toBe(join(dir, hostile))
  })
})

describe('records', () => {
  const commands = [
    ['get', hostile, '--db', 'app', '--table', 'notes'],
    ['query', '--index', 't', '--db', 'app', '--table', 'notes'],
    ['query', '--index', 't', '--page', '--db', 'app', '--table', 'notes'],
    ['export', '--db', 'app'],
  ]
  for (const args of commands) {
    test(`${args[0]}: on a terminal the same JSON with escapes, in a pipe the text as it was put`, async () => {
      const env = asClient(server, org)
      const piped = await runCommand(args, { env })
      expect(piped.stdout).toContain('"\u007f\u009b31m\u202e"')
      const command = onTerminal(args, env)
      expect(await command.exited).toBe(0)
      await eventually('the output', () => command.text().includes('"n":1') || undefined)
      expectHarmless(command.text())
      expect(command.text()).toContain('"\\u007f\\u009b31m\\u202e"')
      if (args[0] === 'get') expect(JSON.parse(command.text())).toEqual(JSON.parse(piped.stdout))
    })
  }

  test('an export straight from the store, on a terminal', async () => {
    const command = onTerminal(['export', '--db', 'app', ...asOperator(server.dataDir, org)])
    expect(await command.exited).toBe(0)
    await eventually('the output', () => command.text().includes('"n":1') || undefined)
    expectHarmless(command.text())
  })
})

test('nothing is printed past the functions that escape', () => {
  const folder = new URL('../../src/', import.meta.url).pathname
  const writing = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) =>
      /process\.(stdout|stderr)\.write|\bconsole\.(log|info|warn|error|debug|trace|dir|table|write)\b|writeSync\(2/.test(
        readFileSync(join(folder, file), 'utf8'),
      ),
    )
  // print.ts, write-lines.ts, engine.ts and logger.ts escape. progress.ts and its thread draw numbers; run.ts prints help and the version.
  // The two of openapi/ only have it in the code samples of the docs page.
  expect(writing.sort()).toEqual([
    'cli/print.ts',
    'cli/run.ts',
    'cli/transfer/progress-thread.ts',
    'cli/transfer/progress.ts',
    'cli/transfer/write-lines.ts',
    'engines/sqlite/engine.ts',
    'openapi/page/render.ts',
    'openapi/samples/sample.ts',
    'process/logger.ts',
  ])
})
