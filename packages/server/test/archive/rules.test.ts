import { describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseDuration, showDuration } from '../../src/core/text/duration.ts'
import { type KnownRun, readArchive } from '../../src/engines/sqlite/archive/catalogue.ts'
import type { CommitTime } from '../../src/engines/sqlite/archive/commit-times.ts'
import { decideContinuation, type Found } from '../../src/engines/sqlite/archive/continuation.ts'
import { findRun } from '../../src/engines/sqlite/archive/find-target.ts'
import { oldestNeeded } from '../../src/engines/sqlite/archive/retention.ts'
import { TimeQueue } from '../../src/engines/sqlite/archive/time-queue.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'

describe('a start continues the last run', () => {
  const last = { salt1: 7, salt2: 8, frame: 3, checksum: [1, 2] as [number, number] }
  const found: Found = {
    archive: 'a',
    run: { number: 1, ended: false, last },
    token: { archive: 'a', run: 1, closed: 'f1', last },
    wal: { salt1: 7, salt2: 8, checksumAt: [1, 2] },
    fingerprint: 'f2',
  }
  const decide = (changes: Partial<Found>) => decideContinuation({ ...found, ...changes })

  test('after its last frame, if the WAL still has that frame', () => {
    expect(decide({})).toEqual({ from: 'lastFrame' })
    expect(decide({ wal: { salt1: 7, salt2: 8, checksumAt: [1, 3] } })).toHaveProperty('gap')
    expect(decide({ wal: { salt1: 7, salt2: 8, checksumAt: undefined } })).toHaveProperty('gap')
  })

  test('with the next generation of the WAL, and with no other', () => {
    expect(decide({ wal: { salt1: 8, salt2: 99, checksumAt: undefined } })).toEqual({ from: 'generation' })
    expect(decide({ wal: { salt1: 9, salt2: 99, checksumAt: undefined } })).toHaveProperty('gap')
    const atEnd = { number: 1, ended: false, last: { ...last, salt1: 0xffffffff } }
    expect(decide({ run: atEnd, wal: { salt1: 0, salt2: 1, checksumAt: undefined } })).toEqual({ from: 'generation' })
  })

  test('if nothing was copied into the closed database file since', () => {
    expect(decide({ wal: undefined, fingerprint: 'f1' })).toEqual({ from: 'generation' })
    expect(decide({ wal: undefined })).toHaveProperty('gap')
    // The disk of the store was set back: its token tells of an earlier end of the run.
    const earlier = { archive: 'a', run: 1, closed: 'f1', last: { ...last, frame: 2 } }
    expect(decide({ wal: undefined, token: earlier, fingerprint: 'f1' })).toHaveProperty('gap')
    expect(decide({ wal: undefined, token: { ...earlier, last: undefined }, fingerprint: 'f1' })).toHaveProperty('gap')
    const unclosed = { archive: 'a', run: 1 }
    expect(decide({ wal: undefined, token: unclosed, fingerprint: 'f1' })).toHaveProperty('gap')
  })

  test('never if the archive had failed or was not used since', () => {
    expect(decide({ token: undefined })).toHaveProperty('gap')
    expect(decide({ token: { archive: 'b', run: 1 } })).toHaveProperty('gap')
    expect(decide({ token: { archive: 'a', run: 2 } })).toHaveProperty('gap')
    expect(decide({ run: { number: 1, ended: true, last } })).toHaveProperty('gap')
    expect(decide({ run: undefined })).toEqual({ gap: 'the archive is new' })
  })
})

describe('times of commits', () => {
  const salts = { salt1: 1, salt2: 2 }
  const time = (seq: number, frames: number, beganMs: number): CommitTime => ({ ...salts, seq, frames, beganMs })

  test('a commit gets the first time at or after its last frame', () => {
    const queue = new TimeQueue()
    queue.add([time(1, 3, 100), time(2, 3, 110), time(3, 8, 120)])
    expect(queue.framesOf(salts)).toBe(8)
    expect([3, 5, 8].map((frame) => queue.take(salts, frame))).toEqual([100, 120, 120])
    expect(queue.take(salts, 9)).toBeUndefined()
    expect(queue.take({ salt1: 2, salt2: 9 }, 1)).toBeUndefined()
    expect(queue.takeUnsure()).toBeUndefined()
  })

  test('a number that is missing makes the times since the one before unsure', () => {
    const queue = new TimeQueue()
    queue.add([time(1, 3, 100), time(3, 8, 120)])
    expect(queue.takeUnsure()).toBe(100)
    expect(queue.takeUnsure()).toBeUndefined()
  })

  test('another start of the server may begin with any number', () => {
    const queue = new TimeQueue()
    queue.add([time(70_000, 3, 100), time(70_001, 5, 110)], true)
    queue.startOver()
    queue.add([time(1, 8, 120)])
    expect(queue.takeUnsure()).toBeUndefined()
  })

  test('a run that begins when nothing was committed since the last look is sure of the next time', () => {
    const queue = new TimeQueue()
    queue.add([time(1, 3, 100), time(2, 5, 110)])
    queue.clear()
    queue.add([], true)
    queue.add([time(3, 8, 120)])
    expect(queue.takeUnsure()).toBeUndefined()
  })
})

test('the newest base that is usable before the kept time is the oldest that is needed', () => {
  const bases = [10, 20, 30].map((usableFromMs, i) => ({ run: 1, number: i + 1, firstSegment: i + 1, usableFromMs }))
  expect([5, 10, 29, 30, 99].map((ms) => oldestNeeded(bases, ms)?.number)).toEqual([undefined, 1, 2, 3, 3])
})

test('a time that the clock of the server showed twice is refused', () => {
  const run = (number: number, fromMs: number, toMs: number) =>
    ({ number, bases: [{ usableFromMs: fromMs }], coveredMs: toMs }) as unknown as KnownRun
  const runs = [run(1, 1_000, 5_000), run(2, 4_000, 9_000)]
  expect(findRun(runs, 3_000).number).toBe(1)
  expect(findRun(runs, 6_000).number).toBe(2)
  expect(() => findRun(runs, 4_500)).toThrow('was twice: the clock of the server was set back')
})

// The file of a base is read by its number, and an archive may have been made by somebody else.
test('the number of a base is that of its file, whatever the file says', () => {
  const dir = makeTempDir()
  try {
    writeFileSync(join(dir, 'archive.json'), '{"format":1}')
    mkdirSync(join(dir, 'run-000001'))
    writeFileSync(join(dir, 'run-000001', 'base-00000003.json'), '{"number":"../../../etc/passwd","usableFromMs":1}')
    expect(readArchive(dir)[0]!.bases.map(({ number }) => number)).toEqual([3])
  } finally {
    removeTempDir(dir)
  }
})

test('durations', () => {
  expect(['90s', '30m', '24h', '7d'].map(parseDuration)).toEqual([90_000, 1_800_000, 86_400_000, 604_800_000])
  for (const text of ['', '7', 'd', '1w', '-1h', '1.5h', '1 h', '1h ']) expect(parseDuration(text)).toBeUndefined()
  expect([1_000, 86_400_000, 90_000].map(showDuration)).toEqual(['1s', '1d', '90s'])
})
