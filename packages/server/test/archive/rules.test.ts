import { describe, expect, test } from 'bun:test'
import { parseDuration, showDuration } from '../../src/core/text/duration.ts'
import { type Position, startOf } from '../../src/engines/sqlite/archive/archive-files.ts'
import { oldestNeeded } from '../../src/engines/sqlite/archive/bases.ts'
import { ClockWatch } from '../../src/engines/sqlite/archive/clock-watch.ts'
import type { CommitTime } from '../../src/engines/sqlite/archive/commit-times.ts'
import { TimeQueue } from '../../src/engines/sqlite/archive/commit-times.ts'
import { decideContinuation, type Found } from '../../src/engines/sqlite/archive/continuation.ts'
import type { Piece, Stretch } from '../../src/engines/sqlite/archive/history.ts'
import { findStretch } from '../../src/engines/sqlite/archive/restore-archive.ts'

describe('a start continues the last run', () => {
  const last = { salt1: 7, salt2: 8, frame: 3, checksum: [1, 2] as [number, number] }
  const found: Found = {
    archive: 'a',
    run: { number: 1, ended: false, last, isWhole: true, wasSetBack: false },
    token: { archive: 'a', run: 1, closed: 'f1', last, reached: startOf('a', 1) },
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
    const atEnd = { ...found.run!, last: { ...last, salt1: 0xffffffff } }
    expect(decide({ run: atEnd, wal: { salt1: 0, salt2: 1, checksumAt: undefined } })).toEqual({ from: 'generation' })
    // The WAL has nothing of the generation before: what is missing of it cannot be archived again.
    const cut = { ...found.run!, isWhole: false }
    const missing = { gap: 'the last segments of the archive are missing' }
    expect(decide({ run: cut, wal: { salt1: 8, salt2: 99, checksumAt: undefined } })).toEqual(missing)
    expect(decide({ run: cut })).toEqual({ from: 'lastFrame' })
  })

  test('if nothing was copied into the closed database file since', () => {
    expect(decide({ wal: undefined, fingerprint: 'f1' })).toEqual({ from: 'generation' })
    expect(decide({ wal: undefined })).toHaveProperty('gap')
    // The disk of the store was set back: its token tells of an earlier end of the run.
    const earlier = { ...found.token!, last: { ...last, frame: 2 } }
    expect(decide({ wal: undefined, token: earlier, fingerprint: 'f1' })).toHaveProperty('gap')
    expect(decide({ wal: undefined, token: { ...earlier, last: null }, fingerprint: 'f1' })).toHaveProperty('gap')
    const unclosed = { ...found.token!, closed: null, last: null }
    expect(decide({ wal: undefined, token: unclosed, fingerprint: 'f1' })).toHaveProperty('gap')
  })

  test('never if the archive had failed or was not used since', () => {
    expect(decide({ token: undefined })).toHaveProperty('gap')
    const token = { ...found.token!, closed: null, last: null }
    expect(decide({ token: { ...token, archive: 'b' } })).toHaveProperty('gap')
    expect(decide({ token: { ...token, run: 2 } })).toHaveProperty('gap')
    expect(decide({ run: { ...found.run!, ended: true } })).toHaveProperty('gap')
    expect(decide({ run: { ...found.run!, wasSetBack: true } })).toHaveProperty('gap')
    expect(decide({ run: undefined })).toEqual({ gap: 'the archive is new' })
  })
})

describe('times of commits', () => {
  const salts = { salt1: 1, salt2: 2 }
  const time = (seq: number, frames: number, beganMs: number): CommitTime => ({
    ...{ ...salts, seq, frames, beganMs, driftMs: 0 },
  })

  test('a commit gets the first time at or after its last frame', () => {
    const queue = new TimeQueue()
    queue.add([time(1, 3, 100), time(2, 3, 110), time(3, 8, 120)])
    expect(queue.framesOf(salts)).toBe(8)
    expect([3, 5, 8].map((frame) => queue.take(salts, frame)?.beganMs)).toEqual([100, 120, 120])
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
    queue.restartNumbers()
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

describe('what is too old', () => {
  const basesOf = (...times: number[]) =>
    times.map((keptFromMs, i) => ({ run: 1, number: i + 1, firstSegment: i + 1, keptFromMs }))
  const nowMs = 1_000_000

  test('the newest base that is usable before the kept time is the oldest that is needed', () => {
    const needed = [5, 10, 29, 30, 99].map((ms) => oldestNeeded(basesOf(10, 20, 30), ms, nowMs)?.number)
    expect(needed).toEqual([undefined, 1, 2, 3, 3])
  })

  test('a base of a clock that was behind does not end what is kept before it', () => {
    expect(oldestNeeded(basesOf(10, 500, 3, 600), 400, nowMs)?.number).toBe(1)
    expect(oldestNeeded(basesOf(10, 500, 3, 600), 550, nowMs)?.number).toBe(3)
  })

  test('a base of a clock that was ahead keeps nothing for ever', () => {
    expect(oldestNeeded(basesOf(10, nowMs * 9, 500, 600), 550, nowMs)?.number).toBe(3)
    expect(oldestNeeded(basesOf(10, nowMs * 9, 500, 600), 550, nowMs * 10)?.number).toBe(1)
  })
})

describe('stretches of the clock', () => {
  const piece = { run: {}, bases: [], broken: undefined } as unknown as Piece
  const at = (frame: number): Position => ({ segment: 1, generation: 1, frame, chain: '' })
  const stretch = (fromMs: number, toMs: number, end: number, of = piece): Stretch => ({
    ...{ piece: of, fromMs, toMs, end: at(end), at: at(end - 1), unsure: null },
  })
  const frameAt = (stretches: Stretch[], atMs: number) => findStretch(stretches, atMs)?.position.frame

  test('only times that two of them have are refused', () => {
    const stretches = [stretch(1_000, 5_000, 10), stretch(4_000, 9_000, 20)]
    expect([3_000, 6_000].map((ms) => frameAt(stretches, ms))).toEqual([9, 19])
    expect(() => frameAt(stretches, 4_500)).toThrow('was twice: the clock of the server was set back')
  })

  test('a start with a clock far behind makes nothing unrestorable', () => {
    // A stop, a start in the past for a moment, then the right time.
    const right = [stretch(1_000, 5_000, 10), stretch(6_000, 7_000, 20)]
    const stretches = [...right, stretch(10, 14, 30), stretch(9_500, 9_900, 40)]
    const times = [3_000, 5_500, 6_500, 12, 9_000, 9_700]
    expect(times.map((ms) => frameAt(stretches, ms))).toEqual([9, 10, 19, 29, 30, 39])
    // The clock passed over these when it was set right, but what was committed by then began later.
    expect([100, 900].map((ms) => frameAt(stretches, ms))).toEqual([undefined, undefined])
  })

  test('a clock that was ahead for a moment makes no earlier state of what came after it', () => {
    const ahead = [stretch(1_000, 5_000, 10), stretch(100_000, 100_010, 20), stretch(5_020, 6_000, 30)]
    expect([5_010, 5_500].map((ms) => frameAt(ahead, ms))).toEqual([10, 29])
    // After the end of the archive, and in a time when it was stopped.
    expect(frameAt(ahead, 50_000)).toBeUndefined()
    const stopped = [...ahead, stretch(8_000, 9_000, 40)]
    expect([7_500, 50_000].map((ms) => frameAt(stopped, ms))).toEqual([30, undefined])
    // In a gap anything may have been committed.
    const gap = [...ahead.slice(0, 2), stretch(8_000, 9_000, 40, { ...piece })]
    expect(frameAt(gap, 7_500)).toBeUndefined()
  })

  test('nothing is restored from between two pieces', () => {
    const stretches = [stretch(1_000, 5_000, 10), stretch(6_000, 7_000, 20, { ...piece })]
    expect(frameAt(stretches, 5_500)).toBeUndefined()
  })
})

describe('the watch of the clock', () => {
  const reading = (ms: number, driftMs: number | undefined = 0) => ({ ms, driftMs })

  test('a clock that runs steadily is one stretch, however long nothing is committed', () => {
    const watch = new ClockWatch()
    watch.observe(reading(1_000))
    expect(watch.commit(reading(900))).toBeUndefined()
    for (const ms of [2_000, 3_000_000, 9_000_000]) watch.observe(reading(ms))
    // It began before the last look, and ended after it.
    expect(watch.commit(reading(8_999_990))).toBeUndefined()
    expect(watch.seen).toEqual({ coveredMs: 9_000_000, later: null })
    watch.observe(reading(9_100_000, 59_000))
    expect(watch.commit(reading(9_100_001, 59_000))).toBeUndefined()
  })

  test('a jump ahead of more than a minute begins another', () => {
    const watch = new ClockWatch()
    watch.observe(reading(1_000))
    watch.observe(reading(101_250, 100_000))
    expect(watch.seen).toEqual({ coveredMs: 1_000, later: [101_250, 101_250] })
    // This one began before the jump.
    expect(watch.commit(reading(1_010))).toBeUndefined()
    expect(watch.commit(reading(101_200, 100_000))).toEqual([1_010, 101_200])
    expect(watch.seen).toEqual({ coveredMs: 101_250, later: null })
    expect(watch.wentBack).toBe(false)
  })

  test('a commit after a jump that nobody has looked at begins another, too', () => {
    const watch = new ClockWatch()
    watch.observe(reading(1_000))
    watch.commit(reading(1_010))
    expect(watch.commit(reading(501_020, 500_000))).toEqual([1_010, 501_020])
    expect(watch.commit(reading(1_030))).toEqual([501_020, 1_030])
  })

  test('every step back begins another; one of more than a minute is told', () => {
    const watch = new ClockWatch()
    watch.observe(reading(500_000))
    watch.commit(reading(500_000))
    expect(watch.commit(reading(499_990))).toEqual([500_000, 499_990])
    watch.observe(reading(499_000, -1_000))
    expect(watch.commit(reading(499_100, -1_000))).toEqual([499_990, 499_000])
    expect(watch.wentBack).toBe(false)
    watch.observe(reading(100, -500_000))
    expect(watch.wentBack).toBe(true)
  })

  test('a start goes on where the process before has ended', () => {
    const watch = ClockWatch.resume({ coveredMs: 5_000, later: null }, 0)
    expect(watch.commit(reading(5_010))).toBeUndefined()
    watch.observe(reading(9_000_000))
    expect(watch.seen).toEqual({ coveredMs: 9_000_000, later: null })
    // Only the clock itself can be compared after a start of the machine.
    const unknown = ClockWatch.resume({ coveredMs: 5_000, later: null }, undefined)
    unknown.observe(reading(9_000_000))
    expect(unknown.seen).toEqual({ coveredMs: 5_000, later: [9_000_000, 9_000_000] })
    expect(unknown.commit({ ms: 9_000_010, driftMs: undefined })).toEqual([5_000, 9_000_000])
  })

  test('a clock that is set all the time is remembered by few stretches', () => {
    const watch = new ClockWatch()
    watch.observe(reading(1_000))
    watch.commit(reading(1_000))
    for (let i = 1; i <= 1_000; i++) watch.observe(reading(1_000 + i * 100_000, i * 100_000))
    expect(watch.seen).toEqual({ coveredMs: 1_000, later: [100_001_000, 100_001_000] })
  })
})

test('durations', () => {
  expect(['90s', '30m', '24h', '7d'].map(parseDuration)).toEqual([90_000, 1_800_000, 86_400_000, 604_800_000])
  for (const text of ['', '7', 'd', '1w', '-1h', '1.5h', '1 h', '1h ']) expect(parseDuration(text)).toBeUndefined()
  expect([1_000, 86_400_000, 90_000].map(showDuration)).toEqual(['1s', '1d', '90s'])
})
