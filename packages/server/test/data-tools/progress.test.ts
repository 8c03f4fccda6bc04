import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { progressLine, showRate } from '../../src/cli/transfer/progress-line.ts'
import { untilRanges } from '../archive/ledger.ts'
import { spawnOnTerminal } from '../cli/on-terminal.ts'
import { cubbyCommand, makeTempDir, removeTempDir, startServer, storeIsEmbedded } from '../harness.ts'
import { expectDone, runCommand, writeLines } from './commands.ts'

setDefaultTimeout(120_000)

describe('progress', () => {
  test('shows the part done, the rate and the time left', () => {
    expect(progressLine(250_000, 10_000, 0.25)).toBe(
      '[######------------------]  25%  250,000 records  25,000/s  0:30 left',
    )
    expect(progressLine(1, 5_400_000, 0.5)).toEndWith('  1:30:00 left')
    expect(progressLine(9, 1_000, 1)).toBe('[########################] 100%  9 records  9/s  0:00 left')
  })

  test('without a known end: the count and the rate', () => {
    expect(progressLine(1_500, 500, undefined)).toBe('1,500 records  3,000/s')
    expect(progressLine(0, 0, 0)).toContain('  0%  0 records  0/s')
  })

  test('the rate is printed at the end', () => {
    expect(showRate(1_000_000, 61_200)).toBe('1,000,000 records in 61.2 s, 16,340 records/s')
    expect(showRate(1, 100)).toBe('1 record in 0.1 s, 10 records/s')
  })

  test('bytes are shown as megabytes', () => {
    expect(progressLine(12_500_000, 5_000, 0.5, 'byte')).toBe(
      '[############------------]  50%  12.5 MB  2.5 MB/s  0:05 left',
    )
  })

  /** The exit code of a command, and what it draws on a terminal. */
  const drawnBy = async (command: string[], env: Record<string, string> = {}): Promise<[number, string]> => {
    const child = spawnOnTerminal(command, env, 140)
    return [await child.exited, child.drawn()]
  }

  // The database copies and checks in one call. Without a thread of its own the line would stand still for minutes.
  test('is drawn while the thread of the command is blocked, and not after that', async () => {
    const module = new URL('../../src/cli/transfer/progress.ts', import.meta.url).href
    const blocked = `import { Progress } from ${JSON.stringify(module)}
      const progress = new Progress()
      progress.step('blocked')
      for (const end = performance.now() + 3_000; performance.now() < end; );
      progress.clear()
      await Bun.sleep(500)
      console.log('end')`
    const [exitCode, drawn] = await drawnBy([process.execPath, '-e', blocked])
    expect(exitCode).toBe(0)
    expect(drawn).toMatch(/(\r\x1b\[2Kblocked {2}0:0[1-4]){2,}\r\x1b\[2K(?:end\r\n)?$/)
  })

  test.skipIf(!storeIsEmbedded())(
    'backup, verify, compact, files and a check of an archive show their steps, and none of it without a terminal',
    async () => {
      const dir = makeTempDir()
      const [data, backup, archive] = [join(dir, 'data'), join(dir, 'backup.db'), join(dir, 'archive')]
      const server = await startServer({ dataDir: data, args: ['--archive', archive] })
      try {
        const org = await server.createOrganization('default')
        const env = { CUBBY_URL: server.url, CUBBY_KEY: org.secretKey, CUBBY_DB: 'app' }
        await expectDone(['bucket', 'create', 'photos'], { env })
        const file = join(dir, 'large.bin')
        writeFileSync(file, Buffer.alloc(2_000_000, 'x'))
        const records = /\rchecking records {2}\[#{24}\] 100% {2}1 record {2}/
        const files = /% {2}2\.0 MB {2}[\d.]+ MB\/s {2}0:0\d left/
        const expectDrawn = async (args: string[], ...patterns: RegExp[]): Promise<void> => {
          const [exitCode, drawn] = await drawnBy([...cubbyCommand(), ...args], env)
          expect([args, exitCode]).toEqual([args, 0])
          const lines = drawn.split('\r\x1b[2K')
          for (const pattern of patterns) expect(lines.join('\r')).toMatch(pattern)
          // The line is wiped away before the output, which is one object, or nothing.
          if (args[1] === 'get') expect(lines.at(-1)).toBe('')
          else expect(JSON.parse(lines.at(-1)!)).toBeObject()
        }
        await expectDrawn(['files', 'put', 'photos', file], /\[#+-*\] +\d+% {2}[\d.]+ MB {2}[\d.]+ MB\/s/)
        await expectDrawn(
          ['files', 'get', 'photos', 'large.bin', '--out', join(dir, 'copy.bin')],
          /\[#*-*\] +\d+% {2}[\d.]+ MB/,
        )
        await expectDrawn(['backup', 'create', backup, '--data', data, '--json'], records, files)
        await expectDrawn(['verify', '--data', data, '--json'], records, files)
        await untilRanges(archive, 1)
        await server.end('SIGTERM')
        await expectDrawn(
          ['backup', 'verify', archive, '--json'],
          /\rchecking the archive {2}\[#*-*\] +\d+% {2}[\d.]+ MB {2}[\d.]+ MB\/s {2}0:0\d left/,
        )
        await expectDrawn(['backup', 'restore', backup, '--data', join(dir, 'restored'), '--json'], records, files)
        await expectDrawn(['compact', '--data', join(dir, 'restored'), '--json'], records)
        const piped = await runCommand(['verify', '--data', data])
        expect(piped).toEqual({ exitCode: 0, stdout: `ok: ${data} is sound\n`, stderr: '' })
      } finally {
        await server.stop()
        removeTempDir(dir)
      }
    },
  )

  test('is drawn on a terminal, and wiped away at the end', async () => {
    const dir = makeTempDir()
    try {
      await expectDone(['orgs', 'create', 'default', '--data', join(dir, 'data')])
      const table = { db: 'app', table: 'notes', indices: {} }
      const records = Array.from({ length: 3_000 }, (_, i) => ({
        ...{ db: 'app', table: 'notes', hashKey: `n${i}`, data: { text: 'x'.repeat(400) } },
      }))
      const file = writeLines(join(dir, 'notes.ndjson'), [table, ...records])
      const command = [...cubbyCommand(), 'import', file, '--data', join(dir, 'data'), '--json']
      const [exitCode, drawn] = await drawnBy(command)
      expect(exitCode).toBe(0)
      expect(drawn).toMatch(/\[#*-*\] +\d+% {2}[\d,]+ records {2}[\d,]+\/s {2}\d+:\d\d left/)
      expect(drawn.slice(drawn.lastIndexOf('left'))).toContain('\r\x1b[2K{"complete":true')
    } finally {
      removeTempDir(dir)
    }
  })
})
