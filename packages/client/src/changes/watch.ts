import { CubbyError } from '../index.ts'
import type { WatchDifference, WatchOptions } from '../records/following.ts'
import type { Send } from '../transport/transport.ts'
import type { MinimalRecordResponse, QueryRequest, QueryResponse, RecordKey } from '../transport/wire.ts'
import { backoffMs, pauseUntil } from '../worker/pause.ts'
import { isFinal, pollMs } from './feed.ts'
import { join } from './hub.ts'
import { mayConcern } from './may-concern.ts'

/** At most four queries a second. */
const queryMsMin = 250
const limitDefault = 100
const limitMax = 1_000
const timerMsMax = 2 ** 31 - 1
const overdueMsMax = 30_000

/** The first `limit` records. A page may be short. */
const readFirst = async <Item>(send: Send, path: string, query: QueryRequest, signal: AbortSignal): Promise<Item[]> => {
  const limit = Math.min(query.limit ?? limitDefault, limitMax)
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const rest: object = cursor === null ? {} : { limit: limit - items.length, cursor }
    const body = JSON.stringify({ ...query, ...rest })
    const page: QueryResponse<never, Item> = await send({ method: 'POST', path, effect: 'read', body }, { signal })
    items.push(...page.items)
    cursor = page.cursor
  } while (cursor !== null && items.length < limit)
  return items
}

const keyOf = ({ hashKey, rangeKey }: RecordKey): string => JSON.stringify([hashKey, rangeKey])

/** `deletions`: when records were deleted between the two results. One that was written again may have the version of before. */
const differenceOf = <Item extends MinimalRecordResponse>(
  before: Item[],
  after: Item[],
  deletions: Map<string, number>,
): WatchDifference<Item> => {
  const rest = new Map(before.map((item) => [keyOf(item), item]))
  const added: Item[] = []
  const changed: Item[] = []
  for (const item of after) {
    const key = keyOf(item)
    const earlier = rest.get(key)
    rest.delete(key)
    if (!earlier) added.push(item)
    else if (earlier.updatedAt !== item.updatedAt || deletions.get(key)! > item.updatedAt) changed.push(item)
  }
  return { added, changed, removed: [...rest.values()] }
}

const isEmpty = ({ added, changed, removed }: WatchDifference<unknown>): boolean =>
  added.length + changed.length + removed.length === 0

/** The time until a record expires, by the clock of this machine. Negative if one should be gone already. */
const msUntilExpiry = (items: MinimalRecordResponse[]): number =>
  Math.min(...items.map(({ ttl }) => (ttl ?? Number.POSITIVE_INFINITY) * 1000)) - Date.now()

const refuseFields = (query: QueryRequest): void => {
  for (const field of ['cursor', 'select'] as const) {
    if (query[field] == null) continue
    throw new CubbyError(
      'invalid_request',
      `query.${field} is given; a watch is of the first records, with their data.`,
      {
        field: `query.${field}`,
      },
    )
  }
}

/** `path` is that of the table. */
export const watch = async <Item extends MinimalRecordResponse>(
  send: Send,
  path: string,
  query: QueryRequest,
  { onChange, signal }: WatchOptions<Item>,
): Promise<void> => {
  refuseFields(query)
  if (signal?.aborted) return
  const stop = new AbortController()
  /** Aborts when the query is to be run again, or not any more. */
  let wake = new AbortController()
  let isPolling = false
  let last: Item[] | undefined
  /** When records of the last result were deleted, as far as the next query must know of it. */
  let deletions = new Map<string, number>()
  let shown = new Set<string>()
  let failure: { error: unknown } | undefined

  const end = (given?: { error: unknown }) => {
    failure ??= given
    stop.abort()
    wake.abort()
  }
  const onAbort = () => end()
  signal?.addEventListener('abort', onAbort)
  const leave = join(send, `${path}/changes`, query.index === undefined ? query.hash : undefined, {
    onChange: (change) => {
      if (change?.op === 'delete' && shown.has(keyOf(change))) deletions.set(keyOf(change), change.deletedAt)
      if (change === undefined || mayConcern(query, change)) wake.abort()
    },
    onEnd: (error) => {
      // The query itself may be allowed. If not, it says so.
      isPolling = error instanceof CubbyError && error.status === 403
      if (!isPolling) return end({ error })
      wake.abort()
    },
  })
  try {
    let failures = 0
    /** Results in a row with a record that should be gone: the clock of the server is behind. */
    let overdue = 0
    let pauseMs = timerMsMax
    let startedMs = -queryMsMin
    for (;;) {
      await pauseUntil(Math.min(pauseMs, isPolling ? pollMs : timerMsMax), wake.signal)
      await pauseUntil(startedMs + queryMsMin - performance.now(), stop.signal)
      if (stop.signal.aborted) break
      // What changes from here on may not be in the result.
      wake = new AbortController()
      const noted = deletions
      deletions = new Map()
      startedMs = performance.now()
      let items: Item[]
      try {
        items = await readFirst<Item>(send, `${path}/query`, query, stop.signal)
        failures = 0
      } catch (error) {
        if (stop.signal.aborted) break
        if (!(error instanceof CubbyError) || isFinal(error)) throw error
        wake.abort()
        deletions = new Map([...noted, ...deletions])
        await pauseUntil(backoffMs(failures++), stop.signal)
        continue
      }
      if (stop.signal.aborted) break
      pauseMs = msUntilExpiry(items)
      overdue = pauseMs > 0 ? 0 : overdue + 1
      if (overdue > 0) pauseMs = Math.min(overdueMsMax, queryMsMin * 2 ** overdue)
      const difference = differenceOf(last ?? [], items, noted)
      const isNews = last === undefined || !isEmpty(difference)
      last = items
      shown = new Set(items.map(keyOf))
      if (isNews) await onChange(items, difference)
    }
  } finally {
    signal?.removeEventListener('abort', onAbort)
    leave()
  }
  if (failure) throw failure.error
}
