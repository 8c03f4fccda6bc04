import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { engineFlags, findStore, readEngineSettings } from '../src/engines/open-engine.ts'

// An engine declares its own flags. One that it declares and does not read would be accepted and do nothing.

test('every flag that an engine declares is read, by that engine only', () => {
  const read: string[] = []
  const note = (flag: string): void => void read.push(flag)
  readEngineSettings({
    count: (flag) => {
      note(flag)
      return 1
    },
    isSet: (flag) => {
      note(flag)
      return true
    },
    text: (flag) => {
      note(flag)
      return undefined
    },
    durationMs: (flag) => {
      note(flag)
      return 1_000
    },
    testVariable: () => undefined,
  })
  expect(read.sort()).toEqual(Object.keys(engineFlags).sort())
})

test('each engine gets its own settings: the flags, and what only tests set', () => {
  const tests: Record<string, string> = {
    CUBBY_TEST_FAULTS: 'faults',
    CUBBY_TEST_CLOCK: 'clock',
    CUBBY_TEST_LEASE_MS: '50',
  }
  const counts: Record<string, number> = { 'pool-size': 3, 'statement-timeout': 700 }
  const settings = readEngineSettings({
    count: (flag) => counts[flag]!,
    isSet: () => true,
    testVariable: (name) => tests[name],
  })
  expect(settings).toEqual({
    sqlite: { noMmap: true, faults: 'faults' },
    postgres: { poolSize: 3, statementMsMax: 700, sweepClock: 'caller', leaseMs: 50 },
  })
})

test('without flags: the defaults that help shows', () => {
  expect(readEngineSettings({ testVariable: () => undefined })).toEqual({
    sqlite: { noMmap: false, faults: undefined },
    postgres: { poolSize: 8, statementMsMax: 5_000, sweepClock: 'database', leaseMs: undefined },
  })
})

test('a worker that a page of the memory map killed: the operator gets a hint at --no-mmap', async () => {
  const store = await findStore({ data: '/nowhere', store: undefined })
  expect(store.workerExitHint('SIGBUS')).toContain('--no-mmap')
  expect(store.workerExitHint('SIGKILL')).toBeUndefined()
  expect(store.workerExitHint(1)).toBeUndefined()
})

test('finding a store opens and makes nothing; its description has no password', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cubby-find-'))
  try {
    const store = await findStore({ data: join(dir, 'data'), store: undefined })
    expect(store.describe()).toBe(join(dir, 'data'))
    await expect(store.open({ role: 'guest', mustExist: true })).rejects.toThrow(`no store in ${join(dir, 'data')}`)
    expect(await Array.fromAsync(new Bun.Glob('**').scan({ cwd: dir, onlyFiles: false }))).toEqual([])
  } finally {
    rmSync(dir, { recursive: true })
  }
  const other = await findStore({ data: '', store: 'postgres://cubby:hidden@db.example.com:5433/app?sslmode=require' })
  expect(other.describe()).toBe('postgres://db.example.com:5433/app')
})
