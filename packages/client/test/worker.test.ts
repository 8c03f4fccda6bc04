import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { withClock } from '../../server/test/moved-clock.ts'
import { CubbyError, type WorkOptions } from '../src/index.ts'
import { RunFailed, work } from '../src/worker.ts'
import { failureOf, json, refused, silence } from './fake-fetch.ts'
import { fakeTasks, until } from './fake-tasks.ts'

// A rejection that nobody takes ends a process of Node.
const unhandled: unknown[] = []
const keep = (error: unknown) => void unhandled.push(error)
beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', keep)
})
afterEach(async () => {
  await Bun.sleep(5)
  process.off('unhandledRejection', keep)
  expect(unhandled).toEqual([])
})

type Tasks = ReturnType<typeof fakeTasks>
type Given = Parameters<Tasks['task']['work']>[0]

/** A worker, and what it has met. `stop` aborts it and waits for its end. */
const start = ({ task }: Tasks, handler: Given, options: WorkOptions = {}) => {
  const controller = new AbortController()
  const errors: { code?: string; message: string }[] = []
  const onError = (error: unknown) => void errors.push(error as Error)
  const ended = task.work(handler, { onError, ...options, signal: controller.signal })
  const stop = async () => {
    controller.abort()
    await ended
  }
  return { errors, stop, ended, controller }
}

const statuses = ({ runs }: Tasks) => [...runs.values()].map(({ status }) => status)

test('the result of the handler is the result of the run', async () => {
  const tasks = fakeTasks()
  tasks.add('a', { to: 'ada' })
  tasks.add('b')
  const worker = start(tasks, (run) => (run.id === 'a' ? { sent: run.payload } : undefined))
  await until('both are done', () => statuses(tasks).join() === 'succeeded,succeeded')
  expect(tasks.runs.get('a')!.result).toEqual({ sent: { to: 'ada' } })
  expect(tasks.runs.get('b')!.result).toBeNull()
  await worker.stop()
  expect(worker.errors).toEqual([])
})

test('work(task, …) of the entry point is the same', async () => {
  const tasks = fakeTasks()
  tasks.add('a')
  const controller = new AbortController()
  await work(tasks.task, () => controller.abort(), { signal: controller.signal })
  expect(statuses(tasks)).toEqual(['succeeded'])
})

describe('failures', () => {
  const outcomeOf = async (handler: Given) => {
    const tasks = fakeTasks()
    tasks.add('a')
    const worker = start(tasks, handler)
    await until('it has failed', () => tasks.runs.get('a')!.error !== null)
    await worker.stop()
    const { error, retry, retryAfter } = tasks.runs.get('a')!
    return { error, retry, retryAfter, said: worker.errors.map((error) => error?.message) }
  }

  test('the message of what the handler throws is the error of the run', async () => {
    const outcome = await outcomeOf(async () => {
      throw new Error('the mailbox is full')
    })
    expect(outcome).toEqual({
      ...{ error: { message: 'the mailbox is full' }, retry: undefined, retryAfter: undefined },
      said: ['the mailbox is full'],
    })
  })

  test('RunFailed says whether and when to go on', async () => {
    const forGood = await outcomeOf(() => {
      throw new RunFailed('no such mailbox', { retry: false })
    })
    expect(forGood).toMatchObject({ error: { message: 'no such mailbox' }, retry: false, retryAfter: undefined })
    const later = await outcomeOf(() => {
      throw new RunFailed('too many mails', { retryAfter: 59.5 })
    })
    expect(later).toMatchObject({ error: { message: 'too many mails' }, retry: undefined, retryAfter: 60 })
  })

  test.each([
    ['a long text is cut to 1,000 characters', new Error('😀'.repeat(3_000)), '😀'.repeat(1_000)],
    ['half a character is replaced', new Error('a\ud83d'), 'a\ufffd'],
    ['no text', new Error(''), 'The handler failed without a message.'],
    ['a string', 'gone', 'gone'],
    ['nothing', undefined, 'undefined'],
    ['an object that has no text', Object.create(null), 'The handler failed without a message.'],
  ])('what is thrown may be anything: %s', async (_, thrown, message) => {
    const { error } = await outcomeOf(() => {
      throw thrown
    })
    expect(error).toEqual({ message })
  })

  test('a result that cannot be stored fails the run and says why', async () => {
    const circle: Record<string, unknown> = {}
    circle.circle = circle
    const { error } = await outcomeOf(() => circle)
    expect(error!.message).toMatch(/circular|cyclic/)
    const tasks = fakeTasks()
    tasks.add('a')
    tasks.state.intercept = ({ path, body }) =>
      path.endsWith('/finish') && body!.result ? refused(413, 'record_too_large') : undefined
    const worker = start(tasks, () => ({ large: true }))
    await until('it has failed', () => tasks.runs.get('a')!.error !== null)
    expect(tasks.runs.get('a')!.error).toEqual({ message: 'It is record_too_large.' })
    await worker.stop()
  })
})

test('at most `concurrency` handlers run, and one claim is in flight', async () => {
  const tasks = fakeTasks()
  for (let i = 0; i < 20; i++) tasks.add(`run-${i}`)
  let now = 0
  let most = 0
  const worker = start(
    tasks,
    async () => {
      most = Math.max(most, ++now)
      await Bun.sleep(5)
      now--
    },
    { concurrency: 3 },
  )
  await until('all are done', () => statuses(tasks).every((status) => status === 'succeeded'))
  await worker.stop()
  expect(most).toBe(3)
  expect(tasks.state.claimsInFlightMax).toBe(1)
  const limits = tasks.requests.filter(({ path }) => path.endsWith('/claim')).map(({ body }) => body!.limit)
  expect(Math.max(...(limits as number[]))).toBe(3)
})

test('a claim asks for at most 100 runs', async () => {
  const tasks = fakeTasks()
  const worker = start(tasks, () => {}, { concurrency: 500, leaseSeconds: 7 })
  await until('it claims', () => tasks.requests.length > 0)
  await worker.stop()
  expect(tasks.requests[0]).toMatchObject({
    path: '/v1/app/_tasks/mail/claim',
    body: { limit: 100, waitSeconds: 20, leaseSeconds: 7 },
  })
})

test.each([0, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY])('concurrency %p is refused', async (concurrency) => {
  const { task } = fakeTasks()
  expect(await failureOf(task.work(() => {}, { concurrency }))).toMatchObject({
    ...{ code: 'invalid_request', field: 'concurrency' },
    message: `concurrency is ${concurrency}; it takes an integer from 1 on.`,
  })
})

describe('leases', () => {
  test(
    'the lease is extended while the handler works, at about a third of its time',
    withClock(async (clock) => {
      const tasks = fakeTasks({ leaseMs: 1_000, now: clock.now })
      tasks.add('a')
      const extensions = () => tasks.requests.filter(({ path }) => path.endsWith('/extend'))
      const extendedAfterMs: number[] = []
      let sinceMs = 0
      tasks.state.intercept = ({ path }) => {
        if (path.endsWith('/extend')) extendedAfterMs.push(Math.round(clock.now() - sinceMs))
        return undefined
      }
      const worker = start(tasks, async ({ signal }) => {
        sinceMs = clock.now()
        await until('three extensions', () => extendedAfterMs.length === 3)
        return { aborted: signal.aborted }
      })
      await clock.until('three extensions', () => extendedAfterMs.length === 3)
      await until('it is done', () => statuses(tasks)[0] === 'succeeded')
      await worker.stop()
      expect(tasks.runs.get('a')!.result).toEqual({ aborted: false })
      expect(extendedAfterMs).toEqual([333, 667, 1_000])
      expect(extensions()[0]!.body).toEqual({ leaseSeconds: 1, lease: 'lease-1' })
      expect(worker.errors).toEqual([])
    }),
  )

  test(
    'a run that is cancelled aborts the signal, and nothing of it is finished',
    withClock(async (clock) => {
      const tasks = fakeTasks({ leaseMs: 1_000, now: clock.now })
      tasks.add('a')
      let reason: CubbyError | undefined
      const worker = start(tasks, async ({ signal }) => {
        await tasks.task.cancel('a')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reason = signal.reason
        throw new Error('I was told to stop')
      })
      await clock.until('the signal has aborted', () => reason !== undefined)
      await worker.stop()
      expect(reason).toBeInstanceOf(CubbyError)
      expect(reason!.code).toBe('lease_lost')
      expect(statuses(tasks)).toEqual(['cancelled'])
      expect(tasks.requests.filter(({ path }) => path.endsWith('/finish'))).toEqual([])
      expect(worker.errors).toEqual([reason!])
    }),
  )

  test(
    'a lease that cannot be extended in time aborts the signal, although no request is answered',
    withClock(async (clock) => {
      const tasks = fakeTasks({ leaseMs: 1_000, now: clock.now })
      tasks.add('a')
      let lostAfterMs = 0
      const worker = start(tasks, async ({ signal }) => {
        const sinceMs = clock.now()
        tasks.state.intercept = (_, signal) => silence(signal)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        lostAfterMs = clock.now() - sinceMs
      })
      await clock.until('the signal has aborted', () => lostAfterMs > 0)
      await worker.stop()
      expect(lostAfterMs).toBe(1_000)
      expect(worker.errors).toMatchObject([{ code: 'lease_lost' }])
    }),
  )

  test(
    'a server that is away for a moment costs no lease',
    withClock(async (clock) => {
      const tasks = fakeTasks({ leaseMs: 2_000, now: clock.now })
      tasks.add('a')
      const worker = start(tasks, async ({ signal }) => {
        tasks.state.isAway = true
        await clock.sleep(900)
        tasks.state.isAway = false
        await clock.sleep(1_500)
        return { aborted: signal.aborted }
      })
      await clock.until('it is done', () => statuses(tasks)[0] === 'succeeded')
      await worker.stop()
      expect(tasks.runs.get('a')!.result).toEqual({ aborted: false })
      expect(worker.errors.map(({ code }) => code)).toContain('outcome_unknown')
    }),
  )

  test(
    'the times of a server whose clock differs give the right length',
    withClock(async (clock) => {
      const tasks = fakeTasks({ now: clock.now })
      let claimedAtMs = 0
      let extendedAtMs = 0
      tasks.state.intercept = ({ path }) => {
        const updatedAt = Date.now() + 3_600_000
        const run = { id: 'a', task: 'mail', lease: 'l', updatedAt, leaseUntil: updatedAt + 1_000 }
        if (path.endsWith('/claim')) {
          claimedAtMs ||= clock.now()
          return tasks.requests.length === 1 ? json({ runs: [run] }) : undefined
        }
        if (path.endsWith('/extend')) extendedAtMs ||= clock.now()
        return json({ leaseUntil: updatedAt + 1_000 })
      }
      const worker = start(tasks, () => clock.sleep(500))
      await clock.until('it extends', () => tasks.requests.some(({ path }) => path.endsWith('/extend')))
      await clock.pass(500)
      await worker.stop()
      expect(Math.round(extendedAtMs - claimedAtMs)).toBe(333)
      expect(worker.errors).toEqual([])
    }),
  )
})

describe('progress', () => {
  test('is reported with the lease, and the one of an earlier attempt is there', async () => {
    const tasks = fakeTasks()
    tasks.add('a')
    tasks.runs.get('a')!.progress = { sent: 5 }
    const worker = start(tasks, async (run) => {
      await run.progress({ sent: 6 })
      return { before: run.lastProgress }
    })
    await until('it is done', () => statuses(tasks)[0] === 'succeeded')
    await worker.stop()
    expect(tasks.runs.get('a')).toMatchObject({ progress: { sent: 6 }, result: { before: { sent: 5 } } })
  })

  test('a report that does not arrive fails nothing; one that is refused does', async () => {
    const tasks = fakeTasks()
    tasks.add('a')
    let replies = 0
    tasks.state.intercept = ({ path }) =>
      !path.endsWith('/extend')
        ? undefined
        : ++replies === 1
          ? refused(503, 'unavailable')
          : refused(400, 'invalid_request')
    const worker = start(tasks, async (run) => {
      await run.progress({ n: 1 })
      await run.progress({ n: 2 })
    })
    await until('it has failed', () => tasks.runs.get('a')!.error !== null)
    await worker.stop()
    expect(worker.errors.map(({ code }) => code)).toEqual(['unavailable', 'invalid_request'])
  })

  test('a report that nobody awaits is no unhandled rejection', async () => {
    const tasks = fakeTasks()
    tasks.add('a')
    tasks.state.intercept = ({ path }) => (path.endsWith('/extend') ? refused(400, 'invalid_request') : undefined)
    const worker = start(tasks, async (run) => {
      run.progress({ n: 1 })
      await Bun.sleep(10)
    })
    await until('it is done', () => statuses(tasks)[0] === 'succeeded')
    await worker.stop()
  })
})

describe('finishWith', () => {
  test('records and the end of the run are one batch, and nothing is finished twice', async () => {
    const tasks = fakeTasks()
    tasks.add('a')
    const counters = tasks.db.table<{ n: number }>('counters')
    const worker = start(tasks, async (run) => {
      await run.finishWith(counters, [{ op: 'put', hashKey: 'mails', data: { n: 1 }, ifMatch: 5 }], { sent: true })
      return { ignored: true }
    })
    await until('it is done', () => statuses(tasks)[0] === 'succeeded')
    await worker.stop()
    expect(tasks.state.batches).toEqual([
      [
        { op: 'put', hashKey: 'mails', data: { n: 1 }, ifUpdatedAt: 5 },
        { op: 'finish', task: 'mail', run: 'a', lease: 'lease-1', result: { sent: true } },
      ],
    ])
    expect(tasks.runs.get('a')!.result).toEqual({ sent: true })
    expect(tasks.requests.filter(({ path }) => path.endsWith('/finish'))).toEqual([])
  })

  // The answer is lost: the handler throws, and the worker reports a failure. It must not undo what was applied.
  test('a batch whose answer is lost stays applied', async () => {
    const tasks = fakeTasks()
    tasks.add('a')
    const worker = start(tasks, async (run) => {
      await run.finishWith(tasks.db.table('t'), [])
    })
    tasks.state.intercept = async ({ path, body }) => {
      if (!path.endsWith('/batch')) return undefined
      tasks.state.intercept = undefined
      const [finish] = body!.operations as unknown as { run: string; lease: string }[]
      await tasks.task.finish({ id: finish!.run, lease: finish!.lease }, { result: { once: true } })
      return new Error('the connection broke')
    }
    await until(
      'the failure was reported',
      () => tasks.requests.filter(({ path }) => path.endsWith('/finish')).length > 1,
    )
    await worker.stop()
    expect(tasks.runs.get('a')).toMatchObject({ status: 'succeeded', result: { once: true }, error: null })
    expect(worker.errors).toMatchObject([{ code: 'outcome_unknown' }])
  })

  test(
    'a batch that is refused leaves the lease to the handler',
    withClock(async (clock) => {
      const tasks = fakeTasks({ leaseMs: 1_000, now: clock.now })
      tasks.add('a')
      const worker = start(tasks, async (run) => {
        tasks.state.intercept = ({ path }) =>
          path.endsWith('/batch') ? refused(412, 'precondition_failed') : undefined
        const refusal = await failureOf(run.finishWith(tasks.db.table('t'), []))
        await clock.sleep(1_300)
        return { code: refusal.code, aborted: run.signal.aborted }
      })
      await clock.until('it is done', () => statuses(tasks)[0] === 'succeeded')
      await worker.stop()
      expect(tasks.runs.get('a')!.result).toEqual({ code: 'precondition_failed', aborted: false })
    }),
  )

  test(
    'an extension that arrives after the finish is not a lost lease',
    withClock(async (clock) => {
      const tasks = fakeTasks({ leaseMs: 3_000, now: clock.now })
      tasks.add('a')
      let isExtended = false
      let aborted: boolean | undefined
      tasks.state.intercept = async ({ path, body }) => {
        if (path.endsWith('/extend')) {
          await until('the batch was applied', () => statuses(tasks)[0] === 'succeeded')
          isExtended = true
        }
        if (!path.endsWith('/batch')) return undefined
        const [finish] = body!.operations as unknown as { run: string; lease: string }[]
        await tasks.task.finish({ id: finish!.run, lease: finish!.lease })
        await until('the extension is refused', () => isExtended)
        await Bun.sleep(20)
        return json({ count: 1, runs: ['a'] })
      }
      const worker = start(tasks, async (run) => {
        await until('the extension is sent', () => tasks.requests.some(({ path }) => path.endsWith('/extend')))
        await run.finishWith(tasks.db.table('t'), [])
        aborted = run.signal.aborted
      })
      // From then on the clock stands still: only what is sent and answered can end the handler.
      await clock.until('it extends', () => tasks.requests.some(({ path }) => path.endsWith('/extend')))
      await until('it is done', () => aborted !== undefined)
      await worker.stop()
      expect(aborted).toBe(false)
      expect(worker.errors).toEqual([])
    }),
  )
})

describe('a server that is away', () => {
  test(
    'is asked again, less and less often, and then worked for',
    withClock(async (clock) => {
      const tasks = fakeTasks({ now: clock.now })
      tasks.state.isAway = true
      const askedMs: number[] = []
      tasks.state.intercept = () => {
        askedMs.push(clock.now())
        return undefined
      }
      const dice = spyOn(Math, 'random').mockReturnValue(0)
      try {
        const worker = start(tasks, () => ({ ok: true }))
        await clock.until('it has tried', () => worker.errors.length >= 4)
        expect(askedMs.slice(1, 4).map((atMs, i) => atMs - askedMs[i]!)).toEqual([50, 100, 200])
        tasks.add('a')
        tasks.state.isAway = false
        await clock.until('it is done', () => statuses(tasks)[0] === 'succeeded')
        await worker.stop()
      } finally {
        dice.mockRestore()
      }
    }),
  )

  test(
    'gets the result when it is back, within the lease',
    withClock(async (clock) => {
      const tasks = fakeTasks({ now: clock.now })
      tasks.add('a')
      const worker = start(tasks, () => {
        tasks.state.isAway = true
        clock.sleep(300).then(() => {
          tasks.state.isAway = false
        })
        return { ok: true }
      })
      await clock.until('it is done', () => statuses(tasks)[0] === 'succeeded')
      await worker.stop()
      expect(tasks.runs.get('a')!.attempt).toBe(1)
    }),
  )

  test(
    'a server that answers claims at once with nothing is asked once a second',
    withClock(async (clock) => {
      const tasks = fakeTasks({ now: clock.now })
      const sinceMs = clock.now()
      const askedAfterMs: number[] = []
      tasks.state.intercept = () => {
        askedAfterMs.push(clock.now() - sinceMs)
        return json({ runs: [] })
      }
      const worker = start(tasks, () => {})
      await clock.until('it has asked three times', () => askedAfterMs.length === 3)
      await worker.stop()
      expect(askedAfterMs).toEqual([0, 1_000, 2_000])
    }),
  )

  test.each([
    [401, 'revoked_api_key'],
    [404, 'task_not_found'],
    [400, 'invalid_request'],
  ])('a claim that is refused (%p %s) ends the worker, when its handlers have ended', async (status, code) => {
    const tasks = fakeTasks()
    tasks.add('a')
    let isDone = false
    const worker = start(
      tasks,
      async () => {
        tasks.state.intercept = ({ path }) => (path.endsWith('/claim') ? refused(status, code) : undefined)
        await Bun.sleep(30)
        isDone = true
      },
      { concurrency: 2 },
    )
    tasks.add('b')
    expect(await failureOf(worker.ended)).toMatchObject({ code, status })
    expect(isDone).toBe(true)
    expect(statuses(tasks)).toContain('succeeded')
  })
})

describe('stop', () => {
  test(
    'ends a claim that waits, at once',
    withClock(async (clock) => {
      // The clock stands still: a claim that is not ended never ends.
      const tasks = fakeTasks({ now: clock.now })
      const worker = start(tasks, () => {})
      await until('it claims', () => tasks.state.claimsInFlight === 1)
      let isStopped = false
      worker.stop().then(() => {
        isStopped = true
      })
      await until('the worker has stopped', () => isStopped)
      expect(tasks.state.claimsInFlight).toBe(0)
      expect(worker.errors).toEqual([])
    }),
  )

  test('handlers may finish, and nothing more is claimed', async () => {
    const tasks = fakeTasks()
    tasks.add('a')
    let begun = false
    const worker = start(tasks, async () => {
      begun = true
      await Bun.sleep(50)
      return { ok: true }
    })
    await until('it has begun', () => begun)
    tasks.add('b')
    await worker.stop()
    expect(statuses(tasks)).toEqual(['succeeded', 'queued'])
  })

  test.each([
    ['the reason of the signal', undefined, 'The worker was stopped.'],
    ['an error of its own', new Error('half of it is done'), 'half of it is done'],
  ])(
    'after graceMs the signal aborts; a handler that throws %s gives its run back at once',
    async (_, own, message) => {
      const tasks = fakeTasks()
      tasks.add('a')
      let begun = false
      const worker = start(
        tasks,
        async ({ signal }) => {
          begun = true
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(own ?? signal.reason)))
        },
        { graceMs: 20 },
      )
      await until('it has begun', () => begun)
      await worker.stop()
      expect(tasks.runs.get('a')).toMatchObject({ retryAfter: 0, error: { message } })
    },
  )

  test(
    'a handler that does not listen is left to its lease',
    withClock(async (clock) => {
      const tasks = fakeTasks({ leaseMs: 3_000, now: clock.now })
      tasks.add('a')
      let begun = false
      const worker = start(
        tasks,
        async () => {
          begun = true
          await new Promise(() => {})
        },
        { graceMs: 10 },
      )
      await until('it has begun', () => begun)
      const sinceMs = clock.now()
      let stoppedAfterMs = 0
      worker.stop().then(() => {
        stoppedAfterMs = clock.now() - sinceMs
      })
      await clock.until('the worker has stopped', () => stoppedAfterMs > 0)
      // The grace, and a second for handlers that were told to stop.
      expect(stoppedAfterMs).toBe(1_010)
      const sent = tasks.requests.length
      await clock.pass(10_000)
      expect(tasks.requests).toHaveLength(sent)
    }),
  )

  test('a signal that is aborted already claims nothing', async () => {
    const tasks = fakeTasks()
    await tasks.task.work(() => {}, { signal: AbortSignal.abort() })
    expect(tasks.requests).toEqual([])
  })

  test('leaves no listeners at the signal', async () => {
    const tasks = fakeTasks()
    const controller = new AbortController()
    let listeners = 0
    const { signal } = controller
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners++
      add(...given)
    }
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners--
      remove(...given)
    }
    for (let i = 0; i < 20; i++) tasks.add(`run-${i}`)
    const ended = tasks.task.work(() => {}, { signal })
    await until('all are done', () => statuses(tasks).every((status) => status === 'succeeded'))
    expect(listeners).toBe(1)
    controller.abort()
    await ended
    expect(listeners).toBe(0)
  })

  test('an onError that throws ends the worker with its error', async () => {
    const tasks = fakeTasks()
    tasks.add('a')
    const thrown = new Error('the log is full')
    const ended = tasks.task.work(
      () => {
        throw new Error('no')
      },
      {
        onError: () => {
          throw thrown
        },
      },
    )
    expect(await failureOf(ended)).toBe(thrown as never)
  })
})
