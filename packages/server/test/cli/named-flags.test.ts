import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTempDir, removeTempDir, runCubby } from '../harness.ts'

// An error must send the operator to the flag, the variable or the file that is wrong.

setDefaultTimeout(120_000)

let dir: string
let data: string

beforeAll(async () => {
  dir = makeTempDir()
  data = join(dir, 'data')
  expect((await runCubby(['orgs', 'create', 'default', '--data', data])).exitCode).toBe(0)
})
afterAll(() => removeTempDir(dir))

const failing = async (words: string[], env: Record<string, string> = {}): Promise<{ code: number; line: string }> => {
  const { exitCode, stdout, stderr } = await runCubby(words, { env })
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
  return { code: exitCode, line: stderr.slice('cubby: '.length).trimEnd() }
}

describe("a store's URL that cannot be right: exit 2, and the flag or variable that has it", () => {
  const cases: [string, () => string[], Record<string, string>, string][] = [
    ['copy --from', () => ['copy', '--from', 'mysql://h/db', '--to', join(dir, 'new')], {}, '--from: '],
    ['copy --to', () => ['copy', '--from', data, '--to', 'mysql://h/db'], {}, '--to: '],
    ['CUBBY_TO', () => ['copy', '--from', data], { CUBBY_TO: 'mysql://h/db' }, 'CUBBY_TO: '],
    ['serve --store', () => ['serve', '--store', 'mysql://h/db'], {}, '--store: '],
    ['CUBBY_STORE', () => ['verify'], { CUBBY_STORE: 'mysql://h/db' }, 'CUBBY_STORE: '],
    ['export --store', () => ['export', '--db', 'a', '--store', 'mysql://h/db'], {}, '--store: '],
    ['import, CUBBY_STORE', () => ['import', '/dev/null'], { CUBBY_STORE: 'mysql://h/db' }, 'CUBBY_STORE: '],
  ]
  for (const [what, words, env, named] of cases) {
    test(what, async () => {
      const { code, line } = await failing(words(), env)
      expect(line).toStartWith(`${named}the URL starts with postgres://; see cubby `)
      expect(code).toBe(2)
    })
  }

  test('a certificate that cannot be read: exit 1, with the flag and the file', async () => {
    const url = `postgres://h/db?sslmode=verify-full&sslrootcert=${join(dir, 'no.pem')}`
    const { code, line } = await failing(['copy', '--from', data, '--to', url])
    expect(line).toBe(`--to: sslrootcert: ${join(dir, 'no.pem')} cannot be read (ENOENT)`)
    expect(code).toBe(1)
  })
})

describe('a value of a flag or of the environment that cannot be right: exit 2, and its name', () => {
  const key = `svc_live_${'0'.repeat(38)}`
  const address = 'it takes the address of a server, such as http://127.0.0.1:4600'
  const cases: [string[], Record<string, string>, string][] = [
    [['db', 'list', '--url', 'localhost:4600'], {}, `--url is "localhost:4600"; ${address}; see`],
    [['db', 'list'], { CUBBY_URL: 'localhost:4600' }, `CUBBY_URL is "localhost:4600"; ${address}; see`],
    [['db', 'list', '--url', 'http://h/v1'], {}, `--url is "http://h/v1"; ${address}, without /v1; see`],
    [['db', 'list', '--url', 'http://h/below/v1/'], {}, `--url is "http://h/below/v1/"; ${address}, without /v1; see`],
    [['db', 'list', '--url', 'http://h?a=1'], {}, `--url is "http://h?a=1"; ${address}; see`],
    [['db', 'list', '--url', 'http://ada:secret@h'], {}, `--url is "http://…h"; ${address}; see`],
    [['db', 'list'], { CUBBY_KEY: `${key}\r` }, 'CUBBY_KEY has a space, a line break or another character that no'],
    [['db', 'list', '--key', `Bearer ${key}`], {}, '--key has a space, a line break or another character that no'],
    [['table', 'list'], { CUBBY_DB: 'App' }, 'CUBBY_DB is "App"; a name matches'],
    [['serve'], { CUBBY_PORT: 'http' }, 'CUBBY_PORT is "http"; it takes 0 to 65535; see'],
    [['serve', '--workers', '0'], {}, '--workers is "0"; it takes 1 to 256; see'],
  ]
  for (const [words, env, said] of cases) {
    test(`${words.join(' ')} ${JSON.stringify(env)}`, async () => {
      const { code, line } = await failing(words, { CUBBY_KEY: key, ...env })
      expect(line).toStartWith(said)
      expect(code).toBe(2)
    })
  }

  test('a server that answers every path with a page: exit 1, and the question whether it is a Cubby server', async () => {
    const page = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('<!doctype html>') })
    try {
      const url = `http://127.0.0.1:${page.port}`
      expect(await failing(['db', 'list', '--url', url], { CUBBY_KEY: key })).toEqual({
        code: 1,
        line: `${url} answered 200, but not with a JSON object; is it a Cubby server?`,
      })
    } finally {
      await page.stop(true)
    }
  })
})

describe('a file that is not there is not called the data directory', () => {
  test('a data directory without a store, for each command that reads one', async () => {
    const nowhere = join(dir, 'nowhere')
    for (const words of [
      ['verify', '--data', nowhere],
      ['backup', 'create', join(dir, 'b'), '--data', nowhere],
      ['backup', 'create', '-', '--data', nowhere],
      ['copy', '--from', nowhere, '--to', join(dir, 'never')],
      ['export', '--db', 'a', '--data', nowhere],
      ['import', '/dev/null', '--data', nowhere],
      ['keys', 'list', '--org', 'default', '--data', nowhere],
    ]) {
      expect([words, await failing(words)]).toEqual([words, { code: 1, line: `there is no store in ${nowhere}` }])
    }
    expect(readdirSync(dir)).toEqual(['data'])
  })

  test('the file of an import, a restore, an export, a backup', async () => {
    const missing = join(dir, 'missing', 'file')
    const said = async (...words: string[]): Promise<string> => (await failing([...words, '--data', data])).line
    expect(await said('import', missing)).toBe(`there is no file ${missing}`)
    expect(await said('backup', 'create', missing)).toStartWith(`${missing}.tmp cannot be written: `)
    const restored = join(dir, 'restored')
    expect((await failing(['backup', 'restore', missing, '--data', restored])).line).toBe(`there is no file ${missing}`)
    const out = (await failing(['export', '--db', 'a', '--data', data, '--out', missing])).line
    expect(out).toBe('there is no table in database a')
  })

  // Root can write every directory.
  test.skipIf(process.getuid?.() === 0)('the data directory that cannot be written is named', async () => {
    const closed = join(dir, 'closed')
    mkdirSync(closed)
    writeFileSync(join(dir, 'backup'), '')
    chmodSync(closed, 0o500)
    for (const words of [['serve'], ['backup', 'restore', join(dir, 'backup')]]) {
      const { code, line } = await failing([...words, '--data', closed])
      expect(line).toStartWith('the data directory cannot be written: ')
      expect(line).toContain(closed)
      expect(code).toBe(1)
    }
  })
})
