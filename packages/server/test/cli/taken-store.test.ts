import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTempDir, removeTempDir, runCubby, storeIsEmbedded } from '../harness.ts'
import { endAllServing, spawnServe } from './serve-process.ts'

// An operator who reads that another process serves the store looks for it. A pid that is not that of the server would lead
// them to stop something else.

setDefaultTimeout(120_000)

let dir: string
beforeEach(() => {
  dir = makeTempDir()
})
afterEach(async () => {
  await endAllServing()
  removeTempDir(dir)
})

const holderFile = (): string => join(dir, 'serve.lock-holder')

/** Returns what a second server prints. */
const refusal = async (): Promise<string> => {
  const { exitCode, stdout, stderr } = await runCubby(['serve', '--data', dir, '--port', '0'])
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  return stderr
}

describe.skipIf(!storeIsEmbedded())('a store that another process serves', () => {
  for (const workers of ['1', '2']) {
    test(`the second server names pid and port of the first (--workers ${workers}), and a stop leaves nothing`, async () => {
      const serving = spawnServe({ dataDir: dir, args: ['--workers', workers] })
      await serving.ready
      const { port } = serving.server
      expect(await refusal()).toBe(
        `cubby: another process serves the store in ${dir} (pid ${serving.pid}, port ${port})\n`,
      )
      expect(await serving.end()).toBe(0)
      expect(existsSync(holderFile())).toBe(false)
    })
  }

  test('a file that a killed server left behind names nobody', async () => {
    const killed = spawnServe({ dataDir: dir })
    await killed.ready
    await killed.end('SIGKILL')
    expect(existsSync(holderFile())).toBe(true)
    // A server of 0.1 holds the lock without writing the file.
    const lock = new Database(join(dir, 'serve.lock'))
    lock.run('PRAGMA journal_mode = MEMORY')
    lock.run('BEGIN EXCLUSIVE')
    const bystander = Bun.spawn(['sleep', '600'])
    try {
      const unnamed = `cubby: another process serves the store in ${dir}\n`
      expect(await refusal()).toBe(unnamed)
      // The pid belongs to another process by now. Only Linux lists who holds a lock.
      if (process.platform === 'linux') {
        writeFileSync(holderFile(), JSON.stringify({ pid: bystander.pid, port: 4600 }))
        expect(await refusal()).toBe(unnamed)
      }
      writeFileSync(holderFile(), '{"pid":')
      expect(await refusal()).toBe(unnamed)
      writeFileSync(holderFile(), JSON.stringify({ pid: process.pid }))
      expect(await refusal()).toBe(`cubby: another process serves the store in ${dir} (pid ${process.pid})\n`)
    } finally {
      bystander.kill()
      lock.close()
    }
    const next = spawnServe({ dataDir: dir })
    await next.ready
    expect(await next.end()).toBe(0)
  })
})
