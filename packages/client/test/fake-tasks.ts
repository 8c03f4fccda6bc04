import { broken, fakeCubby, json, type Reply, refused, type SentRequest } from './fake-fetch.ts'

interface FakeRun {
  id: string
  status: string
  payload: unknown
  attempt: number
  lease: string | null
  leaseUntil: number
  doneLease: string | null
  progress: unknown
  result: unknown
  error: { message: string } | null
  finishedAt: number | null
  [field: string]: unknown
}

/** Undefined: the service answers. */
type Intercept = (request: SentRequest, signal: AbortSignal) => Reply | undefined | Promise<Reply | undefined>

/** Keeps the runs of one task in memory, as far as a worker sees them: claims that wait, leases that expire, finishes. */
export const fakeTasks = ({ leaseMs = 30_000, now = Date.now } = {}) => {
  const runs = new Map<string, FakeRun>()
  const state = {
    /** Every request fails as if its connection had broken. */
    isAway: false,
    /** Answers instead of the service. */
    intercept: undefined as Intercept | undefined,
    claimsInFlight: 0,
    claimsInFlightMax: 0,
    batches: [] as unknown[],
  }
  let leases = 0

  const shown = ({ doneLease, lease, leaseUntil, ...run }: FakeRun) => ({ ...run })
  const add = (id: string, payload: unknown = {}) => {
    const nothing = { progress: null, result: null, error: null, finishedAt: null, key: null }
    const addedAt = now()
    const times = { runAt: addedAt, createdAt: addedAt, updatedAt: addedAt }
    runs.set(id, {
      ...{ id, task: 'mail', status: 'queued', payload, attempt: 0, lease: null, leaseUntil: 0, doneLease: null },
      ...nothing,
      ...times,
    })
  }
  const end = (run: FakeRun, status: string) =>
    Object.assign(run, { status, doneLease: run.lease, lease: null, finishedAt: now() })
  const holds = (run: FakeRun | undefined, lease: unknown): run is FakeRun =>
    run !== undefined && run.status === 'running' && run.lease === lease && run.leaseUntil > now()
  const finish = (run: FakeRun, { result, error, retry, retryAfter }: Record<string, unknown>) => {
    if (error === undefined) return Object.assign(end(run, 'succeeded'), { result: result ?? null })
    Object.assign(end(run, retry === false ? 'failed' : 'queued'), { error, retry, retryAfter })
    if (retry !== false) Object.assign(run, { status: 'waiting', finishedAt: null })
    return run
  }

  const claim = async (
    { limit = 1, waitSeconds = 0 }: { limit?: number; waitSeconds?: number },
    signal: AbortSignal,
  ) => {
    state.claimsInFlightMax = Math.max(state.claimsInFlightMax, ++state.claimsInFlight)
    try {
      for (const untilMs = now() + waitSeconds * 1000; ; await Bun.sleep(2)) {
        signal.throwIfAborted()
        const due = [...runs.values()].filter(({ status }) => status === 'queued').slice(0, limit)
        if (due.length === 0 && now() < untilMs) continue
        const claimedAt = now()
        for (const run of due) {
          const lease = `lease-${++leases}`
          Object.assign(run, { status: 'running', lease, leaseUntil: claimedAt + leaseMs, updatedAt: claimedAt })
          run.attempt++
        }
        return json({ runs: due.map(({ doneLease, ...run }) => run) })
      }
    } finally {
      state.claimsInFlight--
    }
  }

  const answer = (path: string, body: Record<string, unknown>): Reply => {
    const [, id, verb] = /\/runs\/([\w-]+)\/?(\w*)/.exec(path) ?? []
    const run = runs.get(id ?? '')
    if (path.endsWith('/batch')) {
      const operations = body.operations as Record<string, unknown>[]
      const { run: finished, lease } = operations.find(({ op }) => op === 'finish')!
      if (!holds(runs.get(finished as string), lease)) return refused(409, 'lease_lost')
      state.batches.push(operations)
      finish(runs.get(finished as string)!, operations.at(-1)!)
      return json({ count: operations.length, runs: [finished] })
    }
    if (run === undefined) return refused(404, 'run_not_found')
    if (verb === '') return json(shown(run))
    if (verb === 'cancel') return json(shown(end(run, 'cancelled')))
    if (verb === 'finish' && run.doneLease === body.lease) return json(shown(run))
    if (!holds(run, body.lease)) return refused(409, 'lease_lost')
    if (verb === 'finish') return json(shown(finish(run, body)))
    const leaseUntil = now() + leaseMs
    Object.assign(run, { leaseUntil, ...(body.progress !== undefined && { progress: body.progress }) })
    return json({ leaseUntil })
  }

  const { cubby, requests } = fakeCubby(
    async (request, signal) => {
      // As a real answer, it takes a turn of the event loop: a worker that asks without a pause fails a test, but ends.
      await Bun.sleep(0)
      signal.throwIfAborted()
      const given = await state.intercept?.(request, signal)
      if (given !== undefined) return given
      if (state.isAway) return broken()
      const { path, body } = request
      return path.endsWith('/claim') ? claim(body as object, signal) : answer(path, body ?? {})
    },
    { retries: 0 },
  )
  return { runs, state, add, requests, task: cubby.db('app').task('mail'), db: cubby.db('app') }
}

/** Resolves when it is true. */
export const until = async (what: string, isTrue: () => boolean, timeoutMs = 30_000): Promise<void> => {
  for (const endMs = Date.now() + timeoutMs; !isTrue(); await Bun.sleep(2)) {
    if (Date.now() > endMs) throw new Error(`it did not come to pass: ${what}`)
  }
}
