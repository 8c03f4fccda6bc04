import type { Registry } from './registry.ts'

/** The label of requests that no operation has: their paths are chosen by callers. */
const noOperation = 'none'

/** Statuses that the server answers with. Another one is counted as `other`. */
const statuses = [
  ...[200, 201, 202, 204, 206, 302, 304],
  ...[400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 416, 422, 429, 431],
  ...[500, 501, 503, 507],
]
const codes = [...statuses.map(String), 'other']

/** A get takes less than a millisecond, a commit a few, an upload seconds. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The cells of a histogram: the buckets, the one above them, and the sum. */
const durationCells = durationBuckets.length + 2

export interface ResponseCounter {
  /** Returns the index at which the counts of an operation start; undefined stands for requests without an operation. */
  startOf(operation: string | undefined): number
  /** `workMs`: without the time that the caller asked the server to wait for a run. */
  count(start: number, status: number, workMs: number, bytesIn: number, bytesOut: number): void
}

/** Counts answers. `operations`: the names of all operations that can be requested. */
export const countResponses = (registry: Registry, operations: readonly string[]): ResponseCounter => {
  const operation = { name: 'operation', values: [...operations, noOperation] }
  const requests = registry.counter({
    name: 'cubby_http_requests_total',
    help: 'Requests that were answered, by operation and HTTP status. 503: refused by a limit, or the store is not ready.',
    labels: [operation, { name: 'code', values: codes }],
    isSparse: true,
  })
  const durations = registry.histogram({
    name: 'cubby_http_request_duration_seconds',
    help: 'Time from a request to its answer, without the time that the caller asked to wait for a run.',
    labels: [operation],
    buckets: durationBuckets,
    isSparse: true,
  })
  const received = registry.counter({
    name: 'cubby_http_received_bytes_total',
    help: 'Bytes of request bodies that were read.',
    labels: [operation],
    isSparse: true,
  })
  const sent = registry.counter({
    name: 'cubby_http_sent_bytes_total',
    help: 'Bytes of the bodies of answers. A download that is cut off counts in full.',
    labels: [operation],
    isSparse: true,
  })
  // All counts of a request are in one array, and those that most requests count are together in it: for a get, each place in
  // memory that is read takes a measurable time. An operation has its sums, a cell per bucket, and a cell per status.
  const names = [...operations, noOperation]
  const [secondsAt, receivedAt, sentAt, okAt, bucketsAt] = [0, 1, 2, 3, 4]
  const codesAt = bucketsAt + durationBuckets.length + 1
  const width = codesAt + codes.length
  const counted = new Float64Array(names.length * width)
  const cellOfStatus = new Int16Array(600).fill(codesAt + codes.length - 1)
  for (const [position, status] of statuses.entries()) cellOfStatus[status] = codesAt + position
  cellOfStatus[200] = okAt
  registry.collect([], () => {
    for (let cell = 0; cell < names.length; cell++) {
      const own = counted.subarray(cell * width, (cell + 1) * width)
      requests.cells.set(own.subarray(codesAt), cell * codes.length)
      requests.cells[cell * codes.length + statuses.indexOf(200)] = own[okAt]!
      durations.cells.set(own.subarray(bucketsAt, codesAt), cell * durationCells)
      durations.cells[(cell + 1) * durationCells - 1] = own[secondsAt]!
      received.cells[cell] = own[receivedAt]!
      sent.cells[cell] = own[sentAt]!
    }
  })
  const startOf = new Map<string | undefined, number>(names.map((name, cell) => [name, cell * width]))
  return {
    startOf: (operation) => startOf.get(operation) ?? operations.length * width,
    count(start, status, workMs, bytesIn, bytesOut) {
      const seconds = workMs / 1000
      let bucket = 0
      while (bucket < durationBuckets.length && seconds > durationBuckets[bucket]!) bucket++
      counted[start + secondsAt]! += seconds
      counted[start + receivedAt]! += bytesIn
      counted[start + sentAt]! += bytesOut
      counted[start + (cellOfStatus[status] ?? width - 1)]! += 1
      counted[start + bucketsAt + bucket]! += 1
    },
  }
}

interface Served {
  readonly inFlight: number
  readonly uploadsInFlight: number
  readonly loadsInFlight: number
  readonly loadLines: { stored: number; skipped: number; refused: number }
  readonly responsesRefused: { unread: number; late: number }
  readonly replays: number
  readonly tokenRefusals: Readonly<Record<string, number>>
  readonly changes: { streams: number; waits: number; refused: number; cut: number; lagMs: number }
}

/** `http`: undefined in a process that serves no requests. */
export const measureHttp = (registry: Registry, http: () => Served | undefined): void => {
  const requests = registry.gauge({ name: 'cubby_http_requests_in_flight', help: 'Requests that have no answer yet.' })
  const uploads = registry.gauge({ name: 'cubby_file_uploads_in_flight', help: 'Uploads that have not ended.' })
  const loads = registry.gauge({ name: 'cubby_loads_in_flight', help: 'Loads that have not ended.' })
  const outcomes = ['stored', 'skipped', 'refused'] as const
  const lines = registry.counter({
    name: 'cubby_load_lines_total',
    help: 'Lines of loads. skipped: their records existed. Refused ones are counted when their load has ended.',
    labels: [{ name: 'outcome', values: outcomes }],
  })
  const refused = registry.counter({
    name: 'cubby_http_answers_refused_total',
    help: 'Requests that were refused because there was no room for their answers. late: after a wait.',
    labels: [{ name: 'reason', values: ['unread', 'late'] }],
  })
  const replays = registry.counter({
    name: 'cubby_http_replays_total',
    help: 'Requests that were applied before under their idempotency key, and got that answer again.',
  })
  const refusalCodes = ['invalid_token', 'expired_token', 'revoked_token', 'not_granted'] as const
  const tokenRefusals = registry.counter({
    name: 'cubby_token_refusals_total',
    help: 'Requests that were refused for their user token, or for a login token.',
    labels: [{ name: 'code', values: refusalCodes }],
  })
  const streams = registry.gauge({ name: 'cubby_changes_streams', help: 'Streams of changes.' })
  const waits = registry.gauge({ name: 'cubby_changes_waits', help: 'Requests that wait for changes.' })
  const followersRefused = registry.counter({
    name: 'cubby_changes_refused_total',
    help: 'Streams and waits that were refused because there were too many.',
  })
  const cut = registry.counter({
    name: 'cubby_changes_cut_total',
    help: 'Streams that were cut because their reader took nothing.',
  })
  const lag = registry.gauge({
    name: 'cubby_changes_lag_seconds',
    help: 'How long changes have been waiting to be passed on to the streams of their table, of the slowest table.',
  })
  registry.collect([requests, uploads, loads, streams, waits, lag], () => {
    const served = http()
    streams.set(served?.changes.streams ?? 0)
    waits.set(served?.changes.waits ?? 0)
    followersRefused.set(served?.changes.refused ?? 0)
    cut.set(served?.changes.cut ?? 0)
    lag.set((served?.changes.lagMs ?? 0) / 1000)
    replays.set(served?.replays ?? 0)
    for (const [cell, code] of refusalCodes.entries()) tokenRefusals.set(served?.tokenRefusals[code] ?? 0, cell)
    requests.set(served?.inFlight ?? 0)
    uploads.set(served?.uploadsInFlight ?? 0)
    loads.set(served?.loadsInFlight ?? 0)
    for (const [cell, outcome] of outcomes.entries()) lines.set(served?.loadLines[outcome] ?? 0, cell)
    refused.set(served?.responsesRefused.unread ?? 0, 0)
    refused.set(served?.responsesRefused.late ?? 0, 1)
  })
}
