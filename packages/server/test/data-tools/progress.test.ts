import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { progressLine, showRate } from '../../src/cli/transfer/progress.ts'
import { cubbyCommand, makeTempDir, removeTempDir } from '../harness.ts'
import { expectDone, writeLines } from './commands.ts'

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

  test('is drawn on a terminal, and wiped away at the end', async () => {
    const dir = makeTempDir()
    try {
      await expectDone(['orgs', 'create', 'default', '--data', join(dir, 'data')])
      const table = { db: 'app', table: 'notes', indices: {} }
      const records = Array.from({ length: 3_000 }, (_, i) => ({
        ...{ db: 'app', table: 'notes', hashKey: `n${i}`, data: { text: 'x'.repeat(400) } },
      }))
      const file = writeLines(join(dir, 'notes.ndjson'), [table, ...records])
      let drawn = ''
      const onOutput = (_: Bun.Terminal, bytes: Uint8Array): void => {
        drawn += Buffer.from(bytes)
      }
      const terminal = new Bun.Terminal({ cols: 100, rows: 10, data: onOutput })
      const command = [...cubbyCommand(), 'import', file, '--data', join(dir, 'data'), '--json']
      const child = Bun.spawn(command, { terminal })
      expect(await child.exited).toBe(0)
      terminal.close()
      expect(drawn).toMatch(/\[#*-*\] +\d+% {2}[\d,]+ records {2}[\d,]+\/s {2}\d+:\d\d left/)
      expect(drawn.slice(drawn.lastIndexOf('left'))).toContain('\r\x1b[2K{"complete":true')
    } finally {
      removeTempDir(dir)
    }
  })
})
