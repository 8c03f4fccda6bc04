import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTempDir, removeTempDir, runCubby } from '../harness.ts'

// An error must send the operator to the flag, the variable or the file that is wrong.

setDefaultTimeout(60_000)

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

  // As root every directory can be written.
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
