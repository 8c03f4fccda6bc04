import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type CheckpointAction,
  type CheckpointEvent,
  type CheckpointFaultKind,
  CheckpointPolicy,
  checkpointAtPages,
  idleSteps,
  resetAtPages,
  resetPendingPagesMax,
  type SyncReason,
  type Traffic,
  walPagesMax,
} from '../src/engines/sqlite/checkpoint/checkpoint-policy.ts'

// The checkpoint policy without threads or a disk. A wrong decision lets the WAL grow without bound, makes commits wait for
// a checkpoint of the whole WAL, or, after a failed sync, loses acknowledged writes.

const idle: Traffic = { inFlight: 0, queued: false }
const busy: Traffic = { inFlight: 3, queued: true }

const committed = (walPages: number, pendingPages: number): CheckpointEvent => ({
  kind: 'committed',
  walPages,
  pendingPages,
})
const reopened = (walPages: number, pendingPages: number): CheckpointEvent => ({
  ...{ kind: 'committed', walPages, pendingPages, reopened: true },
})
const checkpointed = (fault?: CheckpointFaultKind): CheckpointEvent => ({ kind: 'checkpointed', fault })
const reset = (fault?: CheckpointFaultKind, walPages = 1): CheckpointEvent => ({
  ...{ kind: 'reset', walPages, pendingPages: 0, fault },
})
const synced = (reason: SyncReason, ok = true): CheckpointEvent => ({ kind: 'synced', reason, ok })
const quiet: CheckpointEvent = { kind: 'quiet' }
const idled: CheckpointEvent = { kind: 'idle' }
const failed: CheckpointEvent = { kind: 'failed' }

const nameOf = (action: CheckpointAction): string => (action.do === 'sync' ? `sync ${action.reason}` : action.do)

/** An event, the traffic when it happens, and the actions it must lead to; `+ hold` if writes are held after it. */
type Step = [CheckpointEvent, Traffic, string]

/** `awaitIdle`, which every first commit leads to, is shown only to those that are about it. */
const expectSteps = (policy: CheckpointPolicy, steps: Step[], showsIdle = false): void => {
  steps.forEach(([event, traffic, expected], i) => {
    const all = policy.on(event, traffic).map(nameOf)
    const actions = showsIdle ? all : all.filter((name) => name !== 'awaitIdle')
    const shown = [...actions, ...(policy.holdsWrites ? ['hold'] : [])].join(' + ')
    expect(`${i} ${event.kind}: ${shown}`).toBe(`${i} ${event.kind}: ${expected}`)
  })
}

const cases: Record<string, Step[]> = {
  'few pending pages: nothing': [[committed(checkpointAtPages - 1, checkpointAtPages - 1), busy, '']],
  'enough pending pages: one passive checkpoint, without a sync, while commits go on': [
    [committed(checkpointAtPages, checkpointAtPages), busy, 'checkpoint'],
    [committed(20_000, 20_000), busy, ''],
    [checkpointed(), busy, ''],
    [committed(21_000, 5_000), busy, ''],
  ],
  'a WAL that is to be reset: checkpoints and syncs ahead until few pages are pending, then a reset after the commits in flight':
    [
      [committed(resetAtPages, 17_000), busy, 'checkpoint'],
      [checkpointed(), busy, 'sync ahead'],
      [committed(33_000, 1_500), busy, ''],
      [synced('ahead'), busy, ''],
      [committed(33_500, resetPendingPagesMax + 1), busy, 'checkpoint'],
      [checkpointed(), busy, 'sync ahead'],
      [synced('ahead'), busy, ''],
      [committed(34_000, resetPendingPagesMax), busy, 'hold'],
      [committed(34_100, 900), { inFlight: 0, queued: true }, 'reset + hold'],
      [reset(), { inFlight: 0, queued: true }, ''],
    ],
  'no pending page: the next commit resets the WAL without help': [[committed(resetAtPages, 0), busy, '']],
  'a WAL at its bound: writes are held, the reset waits for the checkpoint, its sync and the commits in flight': [
    [committed(40_000, 20_000), busy, 'checkpoint'],
    [committed(walPagesMax, 44_000), busy, 'hold'],
    [checkpointed(), busy, 'sync ahead + hold'],
    [synced('ahead'), busy, 'hold'],
    [committed(walPagesMax + 100, 24_000), { inFlight: 0, queued: true }, 'reset + hold'],
    [reset(), { inFlight: 0, queued: true }, ''],
    [committed(10, 10), busy, ''],
  ],
  'a long read that prevents the reset: the next forced reset comes half a bound later': [
    [committed(walPagesMax, 64_000), idle, 'awaitQuiet + reset + hold'],
    [reset(), busy, ''],
    [committed(walPagesMax + 1, 500), busy, 'hold'],
    [committed(walPagesMax + 2, 501), { inFlight: 0, queued: true }, 'reset + hold'],
    [reset(), busy, ''],
    [committed(walPagesMax + 10, 5_000), busy, 'checkpoint'],
    [committed(walPagesMax + resetAtPages - 1, 5_000), busy, ''],
    [committed(walPagesMax + resetAtPages, 5_000), busy, 'hold'],
  ],
  'a pause: checkpoint, sync ahead and reset': [
    [committed(1_200, resetPendingPagesMax), idle, 'awaitQuiet'],
    [quiet, idle, 'checkpoint'],
    [checkpointed(), idle, 'sync ahead'],
    [synced('ahead'), idle, 'reset + hold'],
    [reset(), idle, ''],
  ],
  'a pause with few pending pages: nothing': [[committed(1_200, resetPendingPagesMax - 1), idle, '']],
  'no pause after all: waits again': [
    [committed(2_000, 2_000), idle, 'awaitQuiet'],
    [committed(2_100, 2_100), idle, ''],
    [quiet, idle, 'awaitQuiet'],
    [quiet, { inFlight: 0, queued: true }, 'awaitQuiet'],
    [quiet, idle, 'checkpoint'],
  ],
  'a write that comes before the sync ahead of a pause ends: no reset': [
    [committed(2_000, 2_000), idle, 'awaitQuiet'],
    [quiet, idle, 'checkpoint'],
    [checkpointed(), idle, 'sync ahead'],
    [synced('ahead'), { inFlight: 0, queued: true }, ''],
  ],
  'a full disk or a busy file: tried again': [
    [committed(16_000, 16_000), busy, 'checkpoint'],
    [checkpointed('repeatable'), busy, ''],
    [committed(16_001, 16_001), busy, 'checkpoint'],
    [checkpointed('damage'), busy, ''],
    [committed(16_002, 16_002), busy, 'checkpoint'],
  ],
  'a failed checkpoint: nothing is started again': [
    [committed(40_000, 40_000), busy, 'checkpoint'],
    [checkpointed('disk'), busy, ''],
    [committed(70_000, 70_000), idle, ''],
    [quiet, idle, ''],
  ],
  'a failed sync ahead: nothing is started again': [
    [committed(40_000, 40_000), busy, 'checkpoint'],
    [checkpointed(), busy, 'sync ahead'],
    [synced('ahead', false), busy, ''],
    [committed(70_000, 70_000), idle, ''],
  ],
  'a failed reset: nothing is started again, and writes are not held': [
    [committed(walPagesMax, 64_000), { inFlight: 0, queued: true }, 'reset + hold'],
    [reset('disk'), { inFlight: 0, queued: true }, ''],
    [committed(100_000, 100_000), idle, ''],
  ],
  // The answers of the failed commit may still need two seconds to be sent: the pause must not start a checkpoint then.
  'a failed commit: its report, the pause after it and the checkpoint that runs start nothing': [
    [committed(40_000, 40_000), idle, 'checkpoint + awaitQuiet'],
    [failed, idle, ''],
    [committed(70_000, 70_000), idle, ''],
    [quiet, idle, ''],
    [checkpointed(), idle, ''],
    [quiet, idle, ''],
  ],
  'a failed commit: the pause that was awaited before it starts no checkpoint': [
    [committed(2_000, 2_000), idle, 'awaitQuiet'],
    [failed, idle, ''],
    [quiet, idle, ''],
  ],
  'a failed commit while a reset is due: the writes that it held are sent, for the writer to reject': [
    [committed(walPagesMax, 64_000), busy, 'hold'],
    [failed, busy, ''],
  ],
  'a connection that was opened again: a sync before the next reset': [
    [reopened(walPagesMax, 100), { inFlight: 0, queued: true }, 'sync reopened + hold'],
    [synced('reopened'), { inFlight: 0, queued: true }, 'reset + hold'],
  ],
  'a lost checkpoint thread: the bound alone leads to a reset; the new thread is used after a sync': [
    [committed(20_000, 20_000), busy, 'checkpoint'],
    [{ kind: 'checkpointerLost' }, busy, ''],
    [committed(30_000, 30_000), busy, ''],
    [{ kind: 'checkpointerStarted' }, busy, 'sync checkpointer'],
    [committed(walPagesMax, 64_000), { inFlight: 0, queued: true }, 'hold'],
    // Without this, requests that wait for the reset would wait until another request arrives.
    [synced('checkpointer'), { inFlight: 0, queued: true }, 'reset + hold'],
    [reset(), busy, ''],
    [committed(20_000, 20_000), busy, 'checkpoint'],
  ],
  'a lost writer: its reset did not happen, and the next commit asks for it again': [
    [committed(walPagesMax, 64_000), { inFlight: 0, queued: true }, 'reset + hold'],
    [{ kind: 'writerLost' }, idle, ''],
    [{ kind: 'writerStarted' }, idle, 'sync writer'],
    [synced('writer'), idle, ''],
    [committed(walPagesMax + 1, 64_001), busy, 'hold'],
  ],
  'closing: no checkpoint because of the pause; a WAL at its bound is still reset': [
    [committed(2_000, 2_000), idle, 'awaitQuiet'],
    [{ kind: 'closing' }, idle, ''],
    [quiet, idle, ''],
    [committed(3_000, 3_000), idle, ''],
    [committed(walPagesMax, 64_000), idle, 'reset + hold'],
  ],
}

/** Steps of the idle time without a commit, all but the last: the first one only sees that there was one. */
const idleSoFar: Step[] = Array.from({ length: idleSteps }, () => [idled, idle, 'awaitIdle'])

const idleCases: Record<string, Step[]> = {
  'an idle time: checkpoint, sync ahead, and an empty WAL; then nothing until the next commit': [
    [committed(30, 30), idle, 'awaitIdle'],
    [committed(40, 40), idle, ''],
    ...idleSoFar,
    [idled, idle, 'checkpoint'],
    [checkpointed(), idle, 'sync ahead'],
    [synced('ahead'), idle, 'truncate + hold'],
    [reset(undefined, 0), idle, ''],
    // A sweep that found nothing.
    [committed(0, 0), idle, ''],
    [committed(5, 5), idle, 'awaitIdle'],
  ],
  'a commit in the idle time starts its count again; one that wrote nothing does not': [
    [committed(30, 30), idle, 'awaitIdle'],
    ...idleSoFar,
    [committed(31, 31), idle, ''],
    ...idleSoFar,
    [committed(31, 31), idle, ''],
    [idled, idle, 'checkpoint'],
  ],
  'a write that is on its way starts the count again': [
    [committed(30, 30), idle, 'awaitIdle'],
    ...idleSoFar,
    [idled, busy, 'awaitIdle'],
    ...idleSoFar.slice(1),
    [idled, idle, 'checkpoint'],
  ],
  'a reader that needs the WAL: tried again after as long a time': [
    [committed(30, 30), idle, 'awaitIdle'],
    ...idleSoFar,
    [idled, idle, 'checkpoint'],
    [checkpointed(), idle, 'sync ahead'],
    [synced('ahead'), idle, 'truncate + hold'],
    [reset(undefined, 30), idle, 'awaitIdle'],
    ...idleSoFar.slice(1),
    [idled, idle, 'checkpoint'],
  ],
  'a write that arrives during the checkpoint: the WAL is not emptied, and the count starts again': [
    [committed(30, 30), idle, 'awaitIdle'],
    ...idleSoFar,
    [idled, idle, 'checkpoint'],
    [checkpointed(), busy, 'sync ahead'],
    [synced('ahead'), busy, ''],
    [committed(31, 1), idle, 'awaitIdle'],
  ],
  'a full disk: not tried again before the next commit': [
    [committed(30, 30), idle, 'awaitIdle'],
    ...idleSoFar,
    [idled, idle, 'checkpoint'],
    [checkpointed('repeatable'), idle, 'sync ahead'],
    [synced('ahead'), idle, 'truncate + hold'],
    [reset('repeatable', 30), idle, ''],
    [committed(31, 31), idle, 'awaitIdle'],
  ],
  'a failed sync in the idle time: the WAL is not emptied': [
    [committed(30, 30), idle, 'awaitIdle'],
    ...idleSoFar,
    [idled, idle, 'checkpoint'],
    [checkpointed(), idle, 'sync ahead'],
    [synced('ahead', false), idle, ''],
    [idled, idle, ''],
    [committed(31, 31), idle, ''],
  ],
  'a failed commit: the idle time that was awaited before it empties nothing': [
    [committed(30, 30), idle, 'awaitIdle'],
    ...idleSoFar,
    [failed, idle, ''],
    [idled, idle, ''],
  ],
  'closing: nothing is emptied': [
    [committed(30, 30), idle, 'awaitIdle'],
    ...idleSoFar,
    [{ kind: 'closing' }, idle, ''],
    [idled, idle, ''],
  ],
}

describe('the checkpoint policy', () => {
  for (const [name, steps] of Object.entries(cases)) {
    test(name, () => expectSteps(new CheckpointPolicy(true), steps))
  }
  for (const [name, steps] of Object.entries(idleCases)) {
    test(name, () => expectSteps(new CheckpointPolicy(true), steps, true))
  }

  test('with an archive nothing waits for idle time: the WAL stays a file', () => {
    expectSteps(new CheckpointPolicy(true, true), [[committed(30, 30), idle, '']], true)
    expectSteps(new CheckpointPolicy(true, false), [[committed(30, 30), idle, 'awaitIdle']], true)
  })

  test('closing with an archive: at rest everything is copied, unless the disk failed; without one SQLite copies it', () => {
    const rest: CheckpointEvent = { kind: 'rest' }
    const closing: Step = [{ kind: 'closing' }, idle, '']
    const policy = new CheckpointPolicy(true, true)
    expectSteps(policy, [closing, [rest, idle, 'checkpoint']])
    expect(policy.isAtRest).toBe(false)
    expectSteps(policy, [[checkpointed(), idle, '']])
    expect(policy.isAtRest).toBe(true)
    expectSteps(new CheckpointPolicy(true, true), [closing, [failed, idle, ''], [rest, idle, '']])
    expectSteps(new CheckpointPolicy(true, false), [closing, [rest, idle, '']])
  })

  test('a read that prevents the copy of many pages: behind until they are copied', () => {
    const policy = new CheckpointPolicy(true)
    policy.on(committed(resetAtPages, resetAtPages - 1), busy)
    expect(policy.isBehind).toBe(false)
    policy.on(committed(resetAtPages + 1, resetAtPages), busy)
    expect(policy.isBehind).toBe(true)
    policy.on(reset(), idle)
    expect(policy.isBehind).toBe(false)
  })

  test('the writer runs again only after the sync', () => {
    const policy = new CheckpointPolicy(true)
    policy.on({ kind: 'writerLost' }, idle)
    expect(policy.writerRuns).toBe(false)
    policy.on({ kind: 'writerStarted' }, idle)
    expect(policy.writerRuns).toBe(false)
    policy.on(synced('writer'), idle)
    expect(policy.writerRuns).toBe(true)
  })

  test('a guest neither checkpoints nor syncs, and its writer runs again at once', () => {
    const policy = new CheckpointPolicy(false)
    expectSteps(
      policy,
      [
        [committed(100_000, 100_000), idle, ''],
        [quiet, idle, ''],
        [idled, idle, ''],
        [reopened(100_000, 100_000), idle, ''],
        [{ kind: 'writerLost' }, idle, ''],
        [{ kind: 'writerStarted' }, idle, ''],
        [failed, idle, ''],
      ],
      true,
    )
    expect([policy.writerRuns, policy.failed]).toEqual([true, false])
  })
})

// ── Random sequences ───────────────────────────────────────────────────────────────────────────────────────

const commitPagesMax = 9_000

type Move =
  | { move: 'submit' | 'quiet' | 'idle' | 'loseWriter' | 'loseCheckpointer' | 'start' | 'close' }
  | { move: 'failCommit' }
  | { move: 'commit'; pages: number; reopened: boolean }
  | { move: 'checkpoint' | 'reset'; fault: CheckpointFaultKind | undefined; readerPages: number }
  | { move: 'sync'; ok: boolean }

const must = (what: string, holds: boolean): void => {
  if (!holds) throw new Error(`broken: ${what}`)
}

/**
 * The surroundings of the policy: a queue, a writer, a checkpoint thread, the file's syncs and a WAL. Checks every action.
 */
class Surroundings {
  readonly policy = new CheckpointPolicy(true)
  queued = 0
  inFlight = 0
  walPages = 0
  pendingPages = 0
  /** The pages committed since it started stay pending. */
  checkpoint: { leaves: number } | undefined
  resetRuns = false
  truncates = false
  syncs: SyncReason[] = []
  awaitsQuiet = false
  awaitsIdle = false
  writer: 'up' | 'starting' | 'down' = 'up'
  checkpointer: 'up' | 'starting' | 'down' = 'up'
  failed = false
  highestWalPages = 0

  tell(event: CheckpointEvent): void {
    const traffic = { inFlight: this.inFlight, queued: this.queued > 0 }
    for (const action of this.policy.on(event, traffic)) this.#carryOut(action)
    must('failed', this.policy.failed === this.failed)
    const rests = this.checkpoint === undefined && !this.resetRuns && this.syncs.length === 0
    must('at rest when nothing runs', this.policy.isAtRest === rests)
    // A reset that waits for nothing would wait for ever, and so would the writes that it holds.
    must('a due reset waits for something', !this.policy.holdsWrites || !rests || this.inFlight > 0)
    this.#send()
  }

  #carryOut(action: CheckpointAction): void {
    must('nothing is started after a failure', !this.failed)
    if (action.do === 'checkpoint') {
      must('one checkpoint at a time', this.checkpoint === undefined && !this.resetRuns)
      must('by a thread that runs', this.checkpointer === 'up')
      this.checkpoint = { leaves: 0 }
    } else if (action.do === 'sync') this.syncs.push(action.reason)
    else if (action.do === 'reset' || action.do === 'truncate') {
      must('one reset at a time', !this.resetRuns)
      must('a reset with nothing in flight', this.inFlight === 0 && this.writer === 'up')
      must('a reset beside no checkpoint or sync', this.checkpoint === undefined && this.syncs.length === 0)
      this.resetRuns = true
      this.truncates = action.do === 'truncate'
    } else if (action.do === 'awaitIdle') {
      must('one timer of the idle time', !this.awaitsIdle)
      this.awaitsIdle = true
    } else {
      must('one timer at a time', !this.awaitsQuiet)
      this.awaitsQuiet = true
    }
  }

  #send(): void {
    if (this.policy.holdsWrites || !this.policy.writerRuns) return
    must('nothing is sent while a reset runs', !this.resetRuns || this.queued === 0)
    this.inFlight += this.queued
    this.queued = 0
  }

  apply(move: Move): void {
    switch (move.move) {
      case 'submit':
        if (this.failed || !this.policy.writerRuns) return
        this.queued++
        this.#send()
        return
      case 'commit':
      case 'failCommit':
        if (this.inFlight === 0 || this.writer !== 'up') return
        this.inFlight = 0
        if (move.move === 'failCommit') {
          this.failed = true
          this.tell({ kind: 'failed' })
        } else this.#addToWal(move.pages)
        this.tell({
          kind: 'committed',
          walPages: this.walPages,
          pendingPages: this.pendingPages,
          reopened: move.move === 'commit' && move.reopened,
        })
        return
      case 'checkpoint': {
        if (this.checkpoint === undefined) return
        const { leaves } = this.checkpoint
        if (move.fault === undefined)
          this.pendingPages = Math.max(leaves, Math.min(this.pendingPages, move.readerPages))
        if (move.fault === 'disk') this.failed = true
        this.checkpoint = undefined
        this.tell({ kind: 'checkpointed', fault: move.fault })
        return
      }
      case 'reset':
        if (!this.resetRuns) return
        this.resetRuns = false
        if (move.fault === undefined) this.pendingPages = Math.min(this.pendingPages, move.readerPages)
        if (move.fault === 'disk') this.failed = true
        if (this.truncates && move.fault === undefined && move.readerPages === 0) this.walPages = 0
        this.tell({ kind: 'reset', walPages: this.walPages, pendingPages: this.pendingPages, fault: move.fault })
        return
      case 'sync': {
        const reason = this.syncs.shift()
        if (reason === undefined) return
        if (!move.ok) this.failed = true
        if (reason === 'writer') this.writer = 'up'
        if (reason === 'checkpointer') this.checkpointer = 'up'
        this.tell({ kind: 'synced', reason, ok: move.ok })
        return
      }
      case 'quiet':
        if (!this.awaitsQuiet) return
        this.awaitsQuiet = false
        this.tell({ kind: 'quiet' })
        return
      case 'idle':
        if (!this.awaitsIdle) return
        this.awaitsIdle = false
        this.tell({ kind: 'idle' })
        return
      case 'loseWriter':
        if (this.writer !== 'up') return
        this.writer = 'down'
        this.resetRuns = false
        this.inFlight = 0
        this.queued = 0
        this.tell({ kind: 'writerLost' })
        return
      case 'loseCheckpointer':
        if (this.checkpointer !== 'up') return
        this.checkpointer = 'down'
        this.checkpoint = undefined
        this.tell({ kind: 'checkpointerLost' })
        return
      case 'start':
        if (this.writer === 'down') {
          this.writer = 'starting'
          this.tell({ kind: 'writerStarted' })
        }
        if (this.checkpointer === 'down') {
          this.checkpointer = 'starting'
          this.tell({ kind: 'checkpointerStarted' })
        }
        return
      case 'close':
        this.tell({ kind: 'closing' })
    }
  }

  #addToWal(pages: number): void {
    // SQLite writes from the start of the WAL again when no page is pending.
    this.walPages = this.pendingPages === 0 ? pages : this.walPages + pages
    this.pendingPages += pages
    if (this.checkpoint !== undefined) this.checkpoint.leaves += pages
    this.highestWalPages = Math.max(this.highestWalPages, this.walPages)
  }

  /** Completes everything that runs, without a fault. Nothing else happens from here on. */
  complete(): void {
    for (let i = 0; i < 50; i++) {
      this.apply({ move: 'start' })
      this.apply({ move: 'commit', pages: 1, reopened: false })
      this.apply({ move: 'checkpoint', fault: undefined, readerPages: 0 })
      while (this.syncs.length > 0) this.apply({ move: 'sync', ok: true })
      this.apply({ move: 'reset', fault: undefined, readerPages: 0 })
      this.apply({ move: 'quiet' })
      this.apply({ move: 'idle' })
    }
  }
}

const submit: fc.Arbitrary<Move> = fc.constant({ move: 'submit' })
const commit: fc.Arbitrary<Move> = fc.record({
  move: fc.constant('commit' as const),
  pages: fc.integer({ min: 1, max: commitPagesMax }),
  reopened: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})
const end = (fault: fc.Arbitrary<CheckpointFaultKind | undefined>, readerPagesMax: number): fc.Arbitrary<Move> =>
  fc.record({
    move: fc.constantFrom('checkpoint' as const, 'reset' as const),
    fault,
    // A read of an older snapshot keeps pages from being checkpointed.
    readerPages: fc.integer({ min: 0, max: readerPagesMax }),
  })
const sync = (ok: fc.Arbitrary<boolean>): fc.Arbitrary<Move> => fc.record({ move: fc.constant('sync' as const), ok })
const pause: fc.Arbitrary<Move> = fc.constantFrom({ move: 'quiet' }, { move: 'idle' }, { move: 'idle' })
const threads: fc.Arbitrary<Move> = fc.constantFrom(
  ...(['loseWriter', 'loseCheckpointer', 'start', 'start', 'start', 'close'] as const).map((move) => ({ move })),
)
const failure: fc.Arbitrary<Move> = fc.oneof(
  fc.constant({ move: 'failCommit' } as const),
  end(fc.constant('disk'), 0),
  sync(fc.constant(false)),
)
const harmless = fc.option(fc.constantFrom('repeatable' as const, 'damage' as const), { nil: undefined })

const sequences = (...moves: fc.MaybeWeightedArbitrary<Move>[]): fc.Arbitrary<Move[]> =>
  fc.array(fc.oneof(...moves), { minLength: 1, maxLength: 200, size: 'max' })

const everyday = [
  { arbitrary: submit, weight: 8 },
  { arbitrary: commit, weight: 8 },
  // Slower than the commits, so that the WAL grows past every bound.
  { arbitrary: end(fc.constant(undefined), 0), weight: 2 },
  { arbitrary: sync(fc.constant(true)), weight: 2 },
  { arbitrary: pause, weight: 1 },
]
const hardships = [
  { arbitrary: end(harmless, 40_000), weight: 2 },
  { arbitrary: threads, weight: 1 },
]

describe('the checkpoint policy, for random events', () => {
  const runs = { numRuns: 1_000 }

  // `Surroundings` checks after each event: one checkpoint at a time, nothing sent while a reset runs, a reset only with
  // nothing in flight, and nothing started after a failure.
  test('keeps its rules, and comes to rest when what runs has ended', () => {
    fc.assert(
      fc.property(sequences(...everyday, ...hardships, { arbitrary: failure, weight: 1 }), (moves) => {
        const around = new Surroundings()
        for (const move of moves) around.apply(move)
        around.complete()
        expect([around.policy.isAtRest, around.policy.holdsWrites]).toEqual([true, false])
        expect([around.inFlight, around.queued]).toEqual([0, 0])
      }),
      runs,
    )
  })

  test('an idle store has an empty WAL, and awaits nothing', () => {
    let emptied = 0
    fc.assert(
      fc.property(sequences(...everyday, ...hardships), (moves) => {
        const around = new Surroundings()
        for (const move of moves) around.apply(move)
        around.complete()
        // A last commit, after which everything works again.
        around.apply({ move: 'submit' })
        around.complete()
        expect(around.awaitsQuiet).toBe(false)
        if (moves.some(({ move }) => move === 'close')) return
        expect([around.walPages, around.awaitsIdle]).toEqual([0, false])
        emptied++
      }),
      runs,
    )
    expect(emptied).toBeGreaterThan(100)
  })

  test('a WAL at its bound holds writes at once, and is reset when the commits in flight have ended', () => {
    let forcedResets = 0
    fc.assert(
      fc.property(sequences(...everyday, ...hardships), (moves) => {
        const around = new Surroundings()
        let isForced = false
        for (const move of moves) {
          const before = around.walPages
          around.apply(move)
          if (move.move === 'loseWriter' || around.walPages < before) isForced = false
          // The first time; while a reader prevents the reset, the next forced one comes later.
          if (before < walPagesMax && around.walPages >= walPagesMax && !isForced) {
            isForced = true
            expect(around.policy.holdsWrites).toBe(true)
            while (around.inFlight > 0 || around.checkpoint !== undefined || around.syncs.length > 0) {
              around.apply({ move: 'commit', pages: 1, reopened: false })
              around.apply({ move: 'checkpoint', fault: undefined, readerPages: 0 })
              around.apply({ move: 'sync', ok: true })
            }
            expect(around.resetRuns).toBe(true)
            forcedResets++
          }
        }
      }),
      runs,
    )
    expect(forcedResets).toBeGreaterThan(100)
  })

  test('without long reads the WAL exceeds its bound only by the commits in flight', () => {
    let longest = 0
    fc.assert(
      fc.property(sequences(...everyday, { arbitrary: threads, weight: 1 }), (moves) => {
        const around = new Surroundings()
        for (const move of moves) around.apply(move)
        longest = Math.max(longest, around.highestWalPages)
        // Every lost writer loses a reset, which the first commit of the next one asks for again.
        const lost = moves.filter(({ move }) => move === 'loseWriter').length
        expect(around.highestWalPages).toBeLessThan(walPagesMax + (2 + lost) * commitPagesMax)
      }),
      runs,
    )
    // Otherwise the sequences are too short to tell.
    expect(longest).toBeGreaterThan(walPagesMax)
  })
})
