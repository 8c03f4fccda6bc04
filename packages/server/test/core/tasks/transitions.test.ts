import { describe, expect, test } from 'bun:test'
import { backoffMs, type Declaration } from '../../../src/core/tasks/declaration.ts'
import type { Finish, NewRun, Run, RunStatus } from '../../../src/core/tasks/run.ts'
import { isFinished, isKept } from '../../../src/core/tasks/run.ts'
import {
  cancelRun,
  createRun,
  expireAttempt,
  extendLease,
  finishAttempt,
  holdsLease,
  mergeRun,
  type RunChange,
  retryRun,
  startAttempt,
  wakeRun,
} from '../../../src/core/tasks/transitions.ts'

// Every edge of the table of states, in the words of the contract. The engines apply these rules and add none.

const declaration: Declaration = {
  ...{ url: null, authorization: null, leaseSeconds: 30, attempts: 3, backoffSeconds: 5, concurrency: null },
  ...{ keepSeconds: 60, paused: false, schedule: null, on: null },
}
const now = 1_800_000_000_000

const newRun = (more: Partial<NewRun> = {}): NewRun => ({
  ...{ id: 'a', isNamed: false, key: null, payload: '{"n":1}', at: { delayMs: 0 } },
  ...more,
})
const queued = (more: Partial<Run> = {}): Run => ({ ...createRun(1, 7, newRun(), false, now), ...more })
const running = (more: Partial<Run> = {}): Run => ({ ...startAttempt(queued(), 'l', 30_000, now + 10), ...more })
const success: Finish = { lease: 'l', result: '{"r":1}' }
const failure = (more: object = {}): Finish => ({
  ...{ lease: 'l', error: { code: 'worker', message: 'no' }, retry: true, retryAfterMs: null },
  ...more,
})
const finish = (run: Run, how: Finish, { keyIsQueued = false, random = 0.5, at = now + 20 } = {}): Run =>
  finishAttempt(run, how, declaration, keyIsQueued, random, at)

const changed = (change: RunChange): Run => {
  if ('refused' in change) throw new Error(`refused: ${change.refused}`)
  return change.run
}

describe('a new run', () => {
  test('is queued, with no attempt, and due now, after its delay, or at its time, even a past one', () => {
    expect(queued()).toEqual({
      ...{ seq: 1, taskId: 7, id: 'a', status: 'queued', key: null, payload: '{"n":1}', runAtMs: now, attempt: 0 },
      user: null,
      ...{ progress: null, result: null, error: null, createdAtMs: now, updatedAtMs: now, finishedAtMs: null },
      ...{ lease: null, leaseUntilMs: null, doneLease: null, held: false },
    })
    expect(createRun(1, 7, newRun({ at: { delayMs: 5_000 } }), false, now).runAtMs).toBe(now + 5_000)
    expect(createRun(1, 7, newRun({ at: { runAtMs: -5 } }), false, now).runAtMs).toBe(-5)
  })

  test('behind a running one of its key is held', () => {
    expect(createRun(1, 7, newRun({ key: 'k' }), true, now).held).toBe(true)
  })
})

describe('a request for a key of which a run is queued', () => {
  const merge = (run: Run, at: NewRun['at']): Run =>
    mergeRun(run, newRun({ id: 'b', key: 'k', payload: '{"n":2}', at }), now + 50)

  test('replaces the payload, and the earlier of the two times counts while no attempt was made', () => {
    const waiting = queued({ key: 'k', runAtMs: now + 1_000 })
    expect(merge(waiting, { delayMs: 0 })).toEqual({
      ...waiting,
      payload: '{"n":2}',
      runAtMs: now + 50,
      updatedAtMs: now + 50,
    })
    expect(merge(waiting, { delayMs: 5_000 }).runAtMs).toBe(now + 1_000)
  })

  test('must not defeat the backoff: after an attempt the time stays', () => {
    const between = queued({ key: 'k', attempt: 1, runAtMs: now + 1_000 })
    expect(merge(between, { delayMs: 0 })).toMatchObject({ runAtMs: now + 1_000, attempt: 1, payload: '{"n":2}' })
  })
})

describe('a queued run that was written while the clock was ahead', () => {
  const hourMs = 60 * 60 * 1000
  const ahead = { updatedAtMs: now + hourMs + 1, runAtMs: now + 2 * hourMs }

  test('is due now, if its time is that of an attempt or of a schedule', () => {
    for (const more of [{ attempt: 1 }, { key: 'schedule' }]) {
      const run = queued({ ...ahead, ...more })
      expect(wakeRun(run, now)).toEqual({ ...run, runAtMs: now, updatedAtMs: ahead.updatedAtMs + 1 })
    }
  })

  test('keeps a time that was asked for, and one that a clock within the hour gave', () => {
    expect(wakeRun(queued(ahead), now)).toBeUndefined()
    expect(wakeRun(queued({ ...ahead, attempt: 1, updatedAtMs: now + hourMs }), now)).toBeUndefined()
    expect(wakeRun(queued({ ...ahead, attempt: 1, runAtMs: now }), now)).toBeUndefined()
    expect(wakeRun(running(ahead), now)).toBeUndefined()
  })
})

describe('queued → running', () => {
  test('counts the attempt and gives it a lease; the lease of the attempt before is worth nothing any more', () => {
    const again = queued({ attempt: 1, doneLease: 'old', updatedAtMs: now + 5 })
    expect(startAttempt(again, 'l', 30_000, now + 10)).toEqual({
      ...again,
      ...{ status: 'running', attempt: 2, lease: 'l', leaseUntilMs: now + 30_010, doneLease: null },
      updatedAtMs: now + 10,
    })
  })
})

describe('the lease', () => {
  test('is held by nobody else, and not from the millisecond at which it ends', () => {
    const run = running({ leaseUntilMs: now + 100 })
    expect(holdsLease(run, 'l', now + 99)).toBe(true)
    expect(holdsLease(run, 'l', now + 100)).toBe(false)
    expect(holdsLease(run, 'm', now + 50)).toBe(false)
    for (const status of ['queued', 'succeeded', 'failed', 'cancelled'] as const) {
      expect(holdsLease({ ...run, status }, 'l', now + 50)).toBe(false)
    }
  })

  test('moves to now + leaseSeconds, even if that is earlier; the version only changes with progress', () => {
    const run = running({ leaseUntilMs: now + 3_600_000 })
    expect(extendLease(run, 1_000, undefined, now + 20)).toEqual({ ...run, leaseUntilMs: now + 1_020 })
    expect(extendLease(run, 1_000, '{"p":1}', now + 20)).toEqual({
      ...run,
      ...{ leaseUntilMs: now + 1_020, progress: '{"p":1}', updatedAtMs: now + 20 },
    })
  })
})

describe('running → succeeded', () => {
  test('has the result, keeps the last error, and remembers its lease', () => {
    const run = running({ error: { code: 'worker', message: 'before' }, attempt: 2 })
    expect(finish(run, success)).toEqual({
      ...run,
      ...{ status: 'succeeded', result: '{"r":1}', finishedAtMs: now + 20, updatedAtMs: now + 20 },
      ...{ lease: null, leaseUntilMs: null, doneLease: 'l' },
    })
    expect(finish(run, { lease: 'l', result: null }).result).toBeNull()
  })
})

describe('running → queued or failed', () => {
  test('with attempts left it waits backoffSeconds · 2^(n-1), times 0.5 to 1', () => {
    const failed = finish(running(), failure(), { random: 1 })
    expect(failed).toMatchObject({ status: 'queued', runAtMs: now + 20 + 5_000, attempt: 1, doneLease: 'l' })
    expect(failed).toMatchObject({ error: { code: 'worker', message: 'no' }, finishedAtMs: null, lease: null })
    expect(finish(running(), failure(), { random: 0 }).runAtMs).toBe(now + 20 + 2_500)
    expect(finish(running({ attempt: 2 }), failure(), { random: 1 }).runAtMs).toBe(now + 20 + 10_000)
  })

  test('the backoff is at most an hour', () => {
    const waits = [1, 2, 3, 10, 11, 50].map((attempt) => backoffMs({ backoffSeconds: 5 }, attempt, 1) / 1_000)
    expect(waits).toEqual([5, 10, 20, 2_560, 3_600, 3_600])
  })

  test('retryAfter replaces the backoff without jitter', () => {
    for (const random of [0, 1]) {
      expect(finish(running(), failure({ retryAfterMs: 7_000 }), { random }).runAtMs).toBe(now + 20 + 7_000)
      expect(finish(running(), failure({ retryAfterMs: 0 }), { random }).runAtMs).toBe(now + 20)
    }
  })

  test('out of attempts, or with retry: false, it has failed', () => {
    for (const [run, how] of [
      [running({ attempt: 3 }), failure()],
      [running({ attempt: 3 }), failure({ retryAfterMs: 1 })],
      [running(), failure({ retry: false })],
      // The declaration may have got fewer attempts meanwhile.
      [running({ attempt: 5 }), failure()],
    ] as const) {
      expect(finish(run, how)).toMatchObject({ status: 'failed', finishedAtMs: now + 20, doneLease: 'l', lease: null })
    }
  })

  test('while another run of its key is queued it is cancelled instead of repeated, its error kept', () => {
    const keyIsQueued = true
    expect(finish(running(), failure(), { keyIsQueued })).toMatchObject({
      ...{ status: 'cancelled', error: { code: 'worker', message: 'no' }, finishedAtMs: now + 20 },
    })
    expect(finish(running({ attempt: 3 }), failure(), { keyIsQueued }).status).toBe('failed')
    expect(finish(running(), failure({ retry: false }), { keyIsQueued }).status).toBe('failed')
    expect(finish(running(), success, { keyIsQueued }).status).toBe('succeeded')
  })

  test('a lease that expires silently is a failed attempt, whose finish is not accepted later', () => {
    const expired = expireAttempt(running(), declaration, false, 1, now + 40_000)
    expect(expired).toMatchObject({ status: 'queued', error: { code: 'lease_expired' }, doneLease: null, lease: null })
    expect(expired.runAtMs).toBe(now + 45_000)
    expect(expireAttempt(running({ attempt: 3 }), declaration, false, 1, now + 40_000).status).toBe('failed')
    expect(expireAttempt(running(), declaration, true, 1, now + 40_000).status).toBe('cancelled')
  })
})

describe('→ cancelled', () => {
  test('from queued and from running; nothing of the attempt is accepted any more', () => {
    for (const run of [queued(), running()]) {
      const cancelled = changed(cancelRun(run, now + 20))
      expect(cancelled).toMatchObject({ status: 'cancelled', finishedAtMs: now + 20, lease: null, doneLease: null })
      expect(holdsLease(cancelled, 'l', now + 20)).toBe(false)
      expect(cancelRun(cancelled, now + 30)).toEqual({ run: cancelled, isRepeated: true })
    }
  })

  test('never from succeeded or failed', () => {
    const over = finish(running(), success)
    expect(cancelRun(over, now)).toEqual({ refused: 'finished', run: over })
    expect(cancelRun(undefined, now)).toEqual({ refused: 'missing' })
  })
})

describe('finished → queued', () => {
  test('by retry, with all attempts, without result, progress, error and finishedAt', () => {
    for (const status of ['succeeded', 'failed', 'cancelled'] as const) {
      const over = { ...finish(running({ attempt: 3, progress: '{}' }), success), status, result: '{}' }
      expect(changed(retryRun(over, false, false, now + 30))).toMatchObject({
        ...{ status: 'queued', attempt: 0, runAtMs: now + 30, updatedAtMs: now + 30, createdAtMs: now },
        ...{ progress: null, result: null, error: null, finishedAtMs: null, payload: '{"n":1}' },
      })
    }
  })

  test('never from queued or running, nor while another run of its key is queued', () => {
    for (const run of [queued(), running()])
      expect(retryRun(run, false, false, now)).toEqual({ refused: 'exists', run })
    const over = finish(running(), success)
    expect(retryRun(over, true, false, now)).toEqual({ refused: 'exists', run: over })
  })

  test('the lease of the last attempt is recognized until a new attempt begins', () => {
    const again = changed(retryRun(finish(running(), failure({ retry: false })), false, false, now + 30))
    expect([again.doneLease, startAttempt(again, 'm', 30_000, now + 40).doneLease]).toEqual(['l', null])
  })
})

describe('the version', () => {
  test('increases with every change, even if the clock stands still or is set back', () => {
    const back = now - 60_000
    const changes: Run[] = [queued()]
    const step = (run: Run): Run => {
      changes.push(run)
      return run
    }
    let run = step(mergeRun(changes[0]!, newRun(), back))
    run = step(startAttempt(run, 'l', 30_000, back))
    run = step(extendLease(run, 30_000, '{}', back))
    run = step(finish(run, failure({ retryAfterMs: 0 }), { at: back }))
    run = step(startAttempt(run, 'm', 30_000, back))
    run = step(finish(run, success, { at: back }))
    run = step(changed(retryRun(run, false, false, back)))
    step(changed(cancelRun(run, back)))
    const versions = changes.map(({ updatedAtMs }) => updatedAtMs)
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b))
    expect(versions).toHaveLength(9)
  })
})

test('a finished run is kept for keepSeconds after finishedAt; others are always kept', () => {
  const finishedAtMs = now
  expect(isKept({ finishedAtMs }, 60, now + 59_999)).toBe(true)
  expect(isKept({ finishedAtMs }, 60, now + 60_000)).toBe(false)
  expect(isKept({ finishedAtMs: null }, 60, now + 1e12)).toBe(true)
  const states = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as RunStatus[]
  expect(states.filter((status) => isFinished({ status }))).toEqual(['succeeded', 'failed', 'cancelled'])
})
