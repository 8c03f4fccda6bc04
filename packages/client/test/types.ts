// tsc checks this file; it is never run. Code that must not compile is below @ts-expect-error, which is itself an error if
// the next line compiles. package.test.ts compiles this file again with the built declarations.

import {
  type Change,
  Cubby,
  CubbyError,
  type ErrorCode,
  type FileDownload,
  type FileRecord,
  type FollowedOp,
  type FollowedPayload,
  type FollowTable,
  type Grant,
  type Indices,
  type Issuer,
  type KeyChange,
  type OwnToken,
  type ReadData,
  type RecordResponse,
  SaveError,
  type TableChanges,
  type Task,
  uploadTo,
} from '../src/index.ts'
import { LoadError } from '../src/load.ts'
import { type Push, verifyPush } from '../src/webhooks.ts'
import { type Handler, RunFailed, work } from '../src/worker.ts'

interface Order {
  status: 'open' | 'paid'
  customer: string
  total: number
  urgent?: boolean
  createdAt: string
  shippedAt?: Date
  lines: { article: string; due: string }[]
}

const indices = {
  i1: { hashField: 'status', rangeField: 'createdAt' },
  i2: { hashField: 'customer' },
  i3: { hashField: 'urgent', rangeField: 'total' },
  i4: { hashField: 'shippedAt', rangeField: 'elsewhere' },
} as const satisfies Indices

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_T extends true>(): void => {}

const cubby = new Cubby({ url: 'http://localhost:4600', key: 'svc_live_' })
const app = cubby.db('app')
const orders = app.table<Order, typeof indices>('orders')
const date = new Date()
const data: Order = { status: 'open', customer: 'c', total: 1, createdAt: '', lines: [] }

export const declaredSlots = () => {
  orders.query({ index: 'i1', hash: 'open' })
  orders.query({ index: 'i2', hash: 'c' })
  orders.query({ index: 't' })
  orders.query({ hash: 'o-1' })
  // @ts-expect-error i5 is not declared
  orders.query({ index: 'i5', hash: 'open' })
  // @ts-expect-error there is no slot i6
  orders.query({ index: 'i6', hash: 'open' })

  const bare = app.table<Order, Record<never, never>>('bare')
  bare.query({ index: 't' })
  // @ts-expect-error nothing is declared
  bare.query({ index: 'i1', hash: 'open' })

  const unsaid = { i1: { hashField: 'status', rangeField: 'createdAt' } }
  const widened = app.table<Order, typeof unsaid>('orders')
  widened.query({ index: 'i1', hash: 'anything', range: { gt: 5 } })
  // @ts-expect-error i2 is not declared
  widened.query({ index: 'i2', hash: 'open' })

  // Without declared indices in the type, a query may use every index; the server checks it.
  app.table<Order>('orders').query({ index: 'i5', hash: 'x', range: { gte: date } })
  app.table('orders').query({ index: 'i1', hash: date, range: { lt: 5 } })
  // @ts-expect-error there is no slot i6
  app.table('orders').query({ index: 'i6', hash: 'x' })
}

export const queryForms = () => {
  // @ts-expect-error a declared index needs its hash
  orders.query({ index: 'i1' })
  // @ts-expect-error the primary key needs its hash
  orders.query({})
  // @ts-expect-error t has no hash
  orders.query({ index: 't', hash: 'open' })
  // @ts-expect-error a status is open or paid
  orders.query({ index: 'i1', hash: 'lost' })
  // @ts-expect-error the primary hash is a string
  orders.query({ hash: 5 })
  // @ts-expect-error i2 has no range field
  orders.query({ index: 'i2', hash: 'c', range: { eq: 'x' } })
  // @ts-expect-error not an option of a query
  orders.query({ hash: 'a', limt: 5 })

  orders.query({
    index: 'i1',
    hash: 'open',
    range: { between: [date, date] },
    limit: 5,
    ascending: false,
    cursor: null,
  })
  orders.query({ index: 'i1', hash: 'open', range: { gte: '2026-01-01T00:00:00Z' } })
  orders.query({ index: 'i1', hash: 'open', range: { lt: 1_767_225_600_000 } })
  orders.query({ index: 'i1', hash: 'open', range: { beginsWith: '2026' } })
  orders.query({ index: 'i3', hash: true, range: { gt: 10 } })
  orders.query({ index: 'i3', hash: false, range: { lte: date } })
  orders.query({ index: 'i3', hash: false, range: { lte: '2026-01-01T00:00:00Z' } })
  orders.query({ index: 'i4', hash: date, range: { eq: 'any' } })
  orders.query({ index: 'i4', hash: '2026-01-01T00:00:00Z' })
  orders.query({ hash: 'a', range: { gt: date } })
  orders.query({ hash: 'a', range: { beginsWith: 'x' } })
  orders.query({ index: 't', range: { gt: date } })
  orders.query({ index: 't', range: { between: [0, '2026-01-01T00:00:00Z'] } })
  orders.query({ hash: 'a', range: { gt: 'a', lt: 'b' } })
  orders.query({ index: 'i1', hash: 'open', range: { gte: date, lt: '2026-02-01T00:00:00Z' } })
  orders.query({ index: 't', range: { gte: 0, lte: date } })
  // @ts-expect-error two lower bounds
  orders.query({ hash: 'a', range: { gt: 'a', gte: 'b' } })
  // @ts-expect-error two upper bounds
  orders.query({ hash: 'a', range: { lt: 'a', lte: 'b' } })
  // @ts-expect-error between has both bounds
  orders.query({ hash: 'a', range: { between: ['a', 'b'], lt: 'b' } })
  // @ts-expect-error a prefix stands alone
  orders.query({ hash: 'a', range: { beginsWith: 'a', lt: 'b' } })
  // @ts-expect-error three bounds
  orders.query({ hash: 'a', range: { gt: 'a', lt: 'b', lte: 'b' } })
  // @ts-expect-error an operator, not none
  orders.query({ hash: 'a', range: {} })
  // @ts-expect-error no such operator
  orders.query({ hash: 'a', range: { after: 'a' } })
  // @ts-expect-error between takes two
  orders.query({ hash: 'a', range: { between: ['a'] } })
  // @ts-expect-error t is made of numbers
  orders.query({ index: 't', range: { beginsWith: '2026' } })
  // @ts-expect-error totals are numbers
  orders.query({ index: 'i3', hash: true, range: { gt: 'much' } })
  // @ts-expect-error range keys are strings
  orders.query({ hash: 'a', range: { gt: 5 } })
}

export const reading = async () => {
  const found = await orders.findOne('a')
  // @ts-expect-error it may be undefined
  found.data
  const status: 'open' | 'paid' = found!.data.status
  // JSON has no dates.
  const shippedAt: string | undefined = found!.data.shippedAt
  const page = await orders.query({ hash: 'a' })
  const cursor: string | null = page.cursor
  for await (const record of orders.query({ hash: 'a' })) record.data.total.toFixed()
  for await (const record of orders.query({ index: 't', select: 'keys' })) {
    holds<Equal<typeof record.updatedAt, number>>()
    // @ts-expect-error keys are without data
    record.data
  }
  const keys = await orders.query({ hash: 'a', select: 'keys', limit: 5 })
  // @ts-expect-error keys are without data
  keys.items[0]?.data
  const whole = await orders.query({ hash: 'a', select: 'data' })
  whole.items[0]?.data.total.toFixed()
  // @ts-expect-error count has a method of its own
  orders.query({ hash: 'a', select: 'count' })
  // @ts-expect-error nothing else can be selected
  orders.query({ hash: 'a', select: 'total' })
  const count = await orders.count({ index: 'i1', hash: 'open', range: { gte: date, lt: date } })
  holds<Equal<typeof count, number>>()
  // @ts-expect-error a count goes to the end
  orders.count({ hash: 'a', limit: 5 })
  // @ts-expect-error not an option of a query
  orders.count({ hash: 'a', limt: 5 })
  // @ts-expect-error i2 has no range field
  orders.count({ index: 'i2', hash: 'c', range: { eq: 'x' } })
  const many = await orders.find(['a', { hashKey: 'a', rangeKey: 'b' }, found!])
  many[0]?.data.customer
  // @ts-expect-error it may be undefined
  many[0].data
  holds<Equal<typeof many, (typeof found)[]>>()
  const open = await app.table('orders').findOne('a')
  holds<Equal<typeof open, RecordResponse<{ [x: string]: unknown }> | undefined>>()
  return { status, shippedAt, cursor }
}

export const loading = async (bytes: ReadableStream<Uint8Array>, read: AsyncIterable<RecordResponse<Order>>) => {
  const { count, errors } = await orders.load([{ hashKey: 'a', data: { ...data, createdAt: date }, ttl: date }])
  holds<Equal<typeof count, number>>()
  holds<Equal<(typeof errors)[number]['code'], ErrorCode>>()
  await orders.load(bytes, { onError: 'skip', ifAbsent: true, timeoutMs: 60_000, onProgress: ({ skipped }) => skipped })
  await orders.load(read)
  // @ts-expect-error a list, or something else with many
  orders.load({ hashKey: 'a', data })
  // @ts-expect-error of another table
  orders.load([{ hashKey: 'a', data: { total: 1 } }])
  // @ts-expect-error a condition is for one record
  orders.load([{ hashKey: 'a', data }], { ifMatch: 5 })
  // @ts-expect-error it has several requests
  orders.load([{ hashKey: 'a', data }], { idempotencyKey: 'x' })
  try {
    await orders.load([])
  } catch (error) {
    if (error instanceof LoadError) return error.line + error.result.count
    if (error instanceof CubbyError) holds<Equal<typeof error.count, number | undefined>>()
  }
  return errors
}

export const writing = async () => {
  const saved = await orders.save({ hashKey: 'a', data })
  holds<Equal<typeof saved.updatedAt, number>>()
  await orders.save({ hashKey: 'a', data: { ...data, createdAt: date, shippedAt: date } })
  await orders.save({ hashKey: 'a', data: { ...data, lines: [{ article: 'x', due: date }] }, ttl: date })
  await orders.save({ ...saved, data: { ...saved.data, total: 2, shippedAt: date } }, { ifMatch: saved.updatedAt })
  const minimal = await orders.save({ hashKey: 'a', data }, { minimal: true, ifAbsent: true })
  // @ts-expect-error a minimal answer has no data
  minimal.data
  const patched = await orders.patch('a', {
    merge: { total: 3, shippedAt: null },
    increment: { '/total': 1 },
    ttl: null,
  })
  patched.data.total.toFixed()
  await orders.patch(
    { hashKey: 'a' },
    { merge: { shippedAt: date }, append: { '/lines': [1] }, ttl: date },
    { ifMatch: '*' },
  )
  const small = await orders.patch('a', { increment: { '/total': { by: 1, min: 0 } } }, { minimal: true })
  // @ts-expect-error a minimal answer has no data
  small.data
  // @ts-expect-error a total is no text
  await orders.patch('a', { merge: { total: 'x' } })
  // @ts-expect-error no such field
  await orders.patch('a', { merge: { totl: 1 } })
  // @ts-expect-error a pointer begins with a slash
  await orders.patch('a', { increment: { total: 1 } })
  const result = await orders.save([{ hashKey: 'a', data, ifMatch: 5 }], { onProgress: ({ saved }) => saved })
  result.chunks[0]?.status === 'applied'
  // @ts-expect-error a status is no date
  await orders.save({ hashKey: 'a', data: { ...data, status: date } })
  // @ts-expect-error a total is no date
  await orders.save({ hashKey: 'a', data: { ...data, total: date } })
  // @ts-expect-error data is missing
  await orders.save({ hashKey: 'a' })
  // @ts-expect-error fields of data are missing
  await orders.save({ hashKey: 'a', data: { total: 5 } })
  // @ts-expect-error many records have conditions of their own
  await orders.save([{ hashKey: 'a', data }], { ifAbsent: true })
  // @ts-expect-error in a batch a condition names a version
  await orders.save([{ hashKey: 'a', data, ifMatch: '*' }])
  // @ts-expect-error to be absent and removed makes no sense
  await orders.remove('a', { ifAbsent: true })
  await orders.remove('a', { ifMatch: '*' })
  const { count } = await orders.batch([
    { op: 'put', hashKey: 'a', data, ttl: 5 },
    { op: 'delete', hashKey: 'b', ifMatch: 5 },
    { op: 'patch', hashKey: 'c', increment: { '/total': 1 }, ifAbsent: true },
  ])
  // @ts-expect-error a delete has no data
  await orders.batch([{ op: 'delete', hashKey: 'b', data }])
  // @ts-expect-error a put has data
  await orders.batch([{ op: 'put', hashKey: 'b' }])
  return count
}

export const management = async () => {
  await app.tables.create('orders', { indices })
  // @ts-expect-error there is no slot i6
  await app.tables.create('orders', { indices: { i6: { hashField: 'x' } } })
  const { status } = await app.tables.describe('orders')
  holds<Equal<typeof status, 'active'>>()
  for await (const { recoverableUntil } of app.tables.list({ deleted: true })) recoverableUntil.toFixed()
  // @ts-expect-error an active table has no deadline
  for await (const listed of app.tables.list()) listed.recoverableUntil
  const { key } = await cubby.keys.create({ kind: 'public', databases: ['app'] })
  // @ts-expect-error secret or public
  await cubby.keys.create({ kind: 'private' })
  // @ts-expect-error a listing shows no key
  for await (const listed of cubby.keys.list()) listed.key
  return key.length
}

export const errors = (error: unknown): string | undefined => {
  if (error instanceof SaveError) return `${error.result.saved} saved`
  if (!(error instanceof CubbyError)) throw error
  switch (error.code) {
    case 'precondition_failed':
      holds<Equal<typeof error.code, 'precondition_failed'>>()
      return error.field
    case 'outcome_unknown':
    case 'unavailable':
      holds<Equal<typeof error.code, 'outcome_unknown' | 'unavailable'>>()
      return error.requestId
    // @ts-expect-error not a code
    case 'precondition_faild':
      return error.hint
    default:
      holds<Equal<Extract<typeof error.code, 'unavailable'>, never>>()
      return error.code satisfies ErrorCode
  }
}

export const files = async () => {
  const avatars = app.bucket<{ owner: string }>('avatars')
  const stream = new Blob([]).stream()
  const put = await avatars.put('a', stream, { metadata: { owner: 'ada' }, ttl: date, ifMatch: 5 })
  holds<Equal<typeof put, FileRecord<{ owner: string }>>>()
  avatars.put('a', new Uint8Array(5), { onProgress: ({ sentBytes, totalBytes = 0 }) => sentBytes / totalBytes })
  // @ts-expect-error not an object
  avatars.put('a', { a: 1 })
  // @ts-expect-error the owner is a string
  avatars.put('a', '', { metadata: { owner: 5 } })
  // @ts-expect-error not a visibility
  avatars.put('a', '', { visibility: 'hidden' })

  const file = await avatars.get('a', { range: { start: 5 } })
  holds<Equal<typeof file, FileDownload | undefined>>()
  const changed = await avatars.get('a', { ifNoneMatch: put.sha256 })
  holds<Equal<typeof changed, FileDownload | null | undefined>>()
  // A download can be uploaded as it is.
  if (file) avatars.put('b', file.body, file)

  avatars.update('a', { ttl: null, visibility: 'public' }, { ifMatch: '*' })
  // @ts-expect-error the bytes are not changed
  avatars.update('a', { size: 5 })
  // @ts-expect-error a change has no ifAbsent
  avatars.remove('a', { ifAbsent: true })

  for await (const { metadata, urlExpiresAt } of avatars.query({ prefix: 'a/', expiresIn: 60 })) {
    holds<Equal<typeof metadata, { owner: string }>>()
    holds<Equal<typeof urlExpiresAt, number | undefined>>()
  }
  avatars.query({ index: 't' })
  // @ts-expect-error buckets have no other index
  avatars.query({ index: 'i1' })
  // @ts-expect-error a count has no items: use count
  avatars.query({ select: 'count' })
  // @ts-expect-error a count is of all pages
  avatars.count({ limit: 5 })

  avatars.getUrl('a', { expiresIn: 60, download: 'b.png' })
  avatars.getUrl('a', { method: 'PUT', sizeMax: 5, ttl: date })
  // @ts-expect-error a download has no sizeMax
  avatars.getUrl('a', { sizeMax: 5 })
  uploadTo('http://localhost/files/a', stream, { contentType: 'image/png' })

  const { buckets } = await app.buckets.list()
  holds<Equal<(typeof buckets)[number]['status'], 'active'>>()
  const { buckets: deleted } = await app.buckets.list({ deleted: true })
  holds<Equal<(typeof deleted)[number]['deletedAt'], number>>()
  app.buckets.restore('avatars', { deletedAt: 5 })
  // @ts-expect-error a bucket has no indices
  app.buckets.create('avatars', { indices })
}

interface Mail {
  to: string
  sendAt?: Date
}

interface Sent {
  messageId: string
}

export const tasks = async () => {
  const mail = app.task<Mail, Sent>('mail')
  holds<Equal<typeof mail, Task<Mail, Sent>>>()
  const run = await mail.run({ to: 'ada', sendAt: date }, { id: 'o-1', runAt: date, signal: AbortSignal.timeout(5) })
  // JSON has no dates.
  holds<Equal<typeof run.payload.sendAt, string | undefined>>()
  mail.run({ to: 'ada' }, { key: 'ada', delaySeconds: 5 })
  app.task('any').run()
  // @ts-expect-error to is a string
  mail.run({ to: 5 })
  // @ts-expect-error not an option
  mail.run({ to: 'ada' }, { delay: 5 })

  const { status, result, finishedAt } = await run.finished({ signal: AbortSignal.timeout(5) })
  holds<Equal<typeof status, 'succeeded' | 'failed' | 'cancelled'>>()
  holds<Equal<typeof result, Sent | null>>()
  holds<Equal<typeof finishedAt, number>>()
  const found = await mail.get('o-1')
  // @ts-expect-error it may be undefined
  found.status
  await found?.finished()

  for await (const { error, payload } of mail.query({ status: 'failed', range: { gte: date } })) {
    holds<Equal<typeof payload.to, string>>()
    if (error?.code === 'lease_expired') break
    // @ts-expect-error not a code of a run
    if (error?.code === 'gone') break
  }
  // @ts-expect-error not a status
  mail.query({ status: 'lost' })
  // @ts-expect-error a count has a method of its own
  mail.query({ select: 'count' })
  holds<Equal<Awaited<ReturnType<typeof mail.count>>, number>>()
  mail.cancel(run)
  mail.retry('o-1')

  const [claimed] = await mail.claim({ limit: 5, waitSeconds: 20 })
  mail.extend(claimed!, { progress: { sent: 5 } })
  mail.finish(claimed!, { result: { messageId: 'a' } })
  mail.finish(claimed!, { error: { message: 'no' }, retryAfter: 5 })
  // @ts-expect-error not both
  mail.finish(claimed!, { result: { messageId: 'a' }, error: { message: 'no' } })
  // @ts-expect-error only with an error
  mail.finish(claimed!, { retry: false })
  // @ts-expect-error a run without a lease
  mail.finish(run, {})
}

export const changes = async (stored: string | null) => {
  const signal = AbortSignal.timeout(5)
  const feed = orders.changes({ cursor: stored, hash: 'a', signal })
  for await (const change of feed) {
    if (change.op === 'put') holds<Equal<typeof change.data.status, 'open' | 'paid'>>()
    else holds<Equal<typeof change.expired, true | undefined>>()
    // @ts-expect-error a delete has no data
    change.data
  }
  holds<Equal<typeof feed.cursor, string | null>>()
  // @ts-expect-error it moves on by itself
  feed.cursor = 'a'
  for await (const change of orders.changes({ from: 'now', select: 'keys' })) {
    // @ts-expect-error without data
    if (change.op === 'put') change.data
  }
  // @ts-expect-error not an option
  orders.changes({ limit: 5 })
  // @ts-expect-error not a place
  orders.changes({ from: 'end' })
  const { items, more } = await orders.readChanges({ cursor: stored, waitSeconds: 20, limit: 5 }, { signal })
  holds<Equal<(typeof items)[number], Change<ReadData<Order>>>>()
  holds<Equal<typeof more, boolean>>()
  const keys = await orders.readChanges({ select: 'keys' })
  holds<Equal<(typeof keys.items)[number], KeyChange>>()
  await orders.readChanges()
  await app.tables.create('orders', { indices, changes: { keepHours: 5 } })
  const table = await app.tables.keepChanges('orders', null)
  holds<Equal<typeof table.changes, TableChanges | undefined>>()
  // @ts-expect-error how long
  app.tables.keepChanges('orders')
}

export const watches = async () => {
  await orders.watch(
    { index: 'i1', hash: 'open', range: { gte: date }, limit: 5 },
    {
      signal: AbortSignal.timeout(5),
      onChange: async (items, { added, changed, removed }) => {
        holds<Equal<(typeof items)[number]['data']['createdAt'], string>>()
        await Promise.all([...added, ...changed, ...removed].map(({ updatedAt }) => updatedAt))
      },
    },
  )
  orders.watch({ hash: 'a' }, { onChange: () => 5 })
  // @ts-expect-error nobody is told
  orders.watch({ hash: 'a' }, {})
  // @ts-expect-error with their data
  orders.watch({ hash: 'a', select: 'keys' }, { onChange: () => {} })
  // @ts-expect-error the first records
  orders.watch({ hash: 'a', cursor: 'a' }, { onChange: () => {} })
  // @ts-expect-error i5 is not declared
  orders.watch({ index: 'i5', hash: 'open' }, { onChange: () => {} })
}

export const taskBatches = async () => {
  const mail = app.task<Mail, Sent>('mail')
  const { runs } = await orders.batch([
    { op: 'put', hashKey: 'a', data },
    { op: 'run', task: 'mail', id: 'a', payload: { to: 'ada' } satisfies Mail, runAt: date },
    { op: 'finish', task: 'mail', run: 'b', lease: 'l', result: { messageId: 'a' } satisfies Sent },
    { op: 'finish', task: 'mail', run: 'c', lease: 'l', error: { message: 'no' }, retry: false },
  ])
  holds<Equal<typeof runs, string[] | undefined>>()
  // @ts-expect-error of which task
  orders.batch([{ op: 'run', payload: {} }])
  // @ts-expect-error without its lease
  orders.batch([{ op: 'finish', task: 'mail', run: 'b' }])
  // @ts-expect-error not both
  orders.batch([{ op: 'finish', task: 'mail', run: 'b', lease: 'l', result: {}, error: { message: 'no' } }])
  const done = await mail.batch([
    { op: 'run', payload: { to: 'ada' } },
    { op: 'finish', run: 'b', lease: 'l' },
  ])
  holds<Equal<typeof done.runs, string[]>>()
  // @ts-expect-error no records
  mail.batch([{ op: 'put', hashKey: 'a', data }])
}

export const worker = async () => {
  const mail = app.task<Mail, Sent>('mail')
  const handler: Handler<Mail, Sent> = async (run) => {
    await fetch('https://example.com', { body: run.payload.to, signal: run.signal })
    await run.progress({ sent: 5 })
    if (run.attempt > 5) throw new RunFailed('no', { retry: false })
    await run.finishWith(orders, [{ op: 'put', hashKey: 'a', data }], { messageId: 'a' })
    // @ts-expect-error fields of data are missing
    await run.finishWith(orders, [{ op: 'put', hashKey: 'a', data: {} }])
    // @ts-expect-error not the result of a run
    await run.finishWith(mail, [{ op: 'run', payload: {} }], { id: 5 })
  }
  await mail.work(handler, { concurrency: 5, signal: AbortSignal.timeout(5), graceMs: 5, leaseSeconds: 60 })
  await work(mail, () => ({ messageId: 'a' }), { onError: (_, run) => run?.id.length })
  mail.work(() => {})
  // @ts-expect-error not a result
  mail.work(() => ({ id: 5 }))
  // @ts-expect-error not an option
  mail.work(handler, { concurency: 5 })
}

export const webhooks = async (request: Request, headers: Record<string, string | string[] | undefined>) => {
  const push = await verifyPush<Mail>(request, ['whsec_', 'whsec_'])
  holds<Equal<typeof push, Push<Mail>>>()
  const raw = await verifyPush({ headers, body: new Uint8Array(5) }, 'whsec_')
  holds<Equal<typeof raw.payload, Record<string, unknown>>>()
  // A push is extended and finished as a claimed run is.
  await app.task<Mail, Sent>(push.task).finish(push, { result: { messageId: 'a' } })
  // @ts-expect-error a body that was parsed
  await verifyPush({ headers, body: { to: 'ada' } }, 'whsec_')
}

export const followedWrites = async () => {
  await app.task<FollowedPayload>('index-orders').work(async ({ payload }) => {
    holds<Equal<typeof payload.hashKey, string>>()
    holds<Equal<typeof payload.rangeKey, string | undefined>>()
    holds<Equal<typeof payload.op, FollowedOp>>()
    if (payload.op === 'put') holds<Equal<typeof payload.updatedAt, number>>()
    else holds<Equal<typeof payload.deletedAt, number>>()
    // @ts-expect-error the version of a write that is not known
    payload.deletedAt
    return {}
  })
}

export const taskManagement = async () => {
  const { secret, updatedAt } = await app.tasks.declare(
    'mail',
    { url: 'https://example.com/', schedule: { cron: '0 6 * * *', payload: { to: 'ada' } satisfies Mail } },
    { ifAbsent: true },
  )
  holds<Equal<typeof secret, string | undefined>>()
  app.tasks.declare('mail', { schedule: { every: 60 } }, { ifMatch: updatedAt })
  // @ts-expect-error not a field of a declaration
  app.tasks.declare('mail', { retries: 5 })
  const on: FollowTable = { table: 'orders' }
  app.tasks.declare('mail', { on })
  const ops: FollowedOp[] = ['put', 'delete', 'expire']
  const followed = (await app.tasks.declare('mail', { on: { ...on, ops } })).on
  holds<Equal<typeof followed, Required<FollowTable> | null>>()
  // @ts-expect-error a patch is a put
  app.tasks.declare('mail', { on: { ...on, ops: ['patch'] } })
  // @ts-expect-error the table is missing
  app.tasks.declare('mail', { on: { ops } })
  // @ts-expect-error a task is declared
  app.tasks.create('mail')
  const { oldestRunAt } = await app.tasks.pause('mail')
  holds<Equal<typeof oldestRunAt, number | null>>()
  app.tasks.resume('mail')
  for await (const { recoverableUntil } of app.tasks.list({ deleted: true })) recoverableUntil.toFixed()
  // @ts-expect-error an active task has no deadline
  for await (const listed of app.tasks.list()) listed.recoverableUntil
  app.tasks.restore('mail', { deletedAt: 5 })
  app.tasks.createSecret('mail', { revokeOld: true })
}

export const userTokens = async () => {
  new Cubby({ url: '', token: 'svc_user_' })
  new Cubby({ url: '', token: async () => (await fetch('/token')).text() })
  const reader = new Cubby({ url: '', key: 'svc_pub_' })
  new Cubby({ url: '', token: () => reader.tokens.exchange('a.b.c') })
  // @ts-expect-error one of them
  new Cubby({ url: '', key: 'svc_live_', token: 'svc_user_' })
  // @ts-expect-error none of them
  new Cubby({ url: '' })
  // @ts-expect-error without the token
  new Cubby({ url: '', token: async () => ({ expiresAt: 5 }) })

  const grants: Grant[] = [
    { db: 'app', table: 'news', can: 'read' },
    { db: 'app', table: 'notes', hash: { beginsWith: 'ada:' }, can: 'write', sizeMax: 5 },
    { db: 'app', table: 'notes', index: 'i1', hash: 5, can: 'read' },
    { db: 'app', bucket: 'files', prefix: 'ada/', can: 'write', sizeMax: 5 },
    { db: 'app', task: 'mail', can: 'run' },
    // @ts-expect-error nothing is written by index
    { db: 'app', table: 'notes', index: 'i1', hash: 'ada', can: 'write' },
    // @ts-expect-error of which hash value
    { db: 'app', table: 'notes', index: 'i1', can: 'read' },
    // @ts-expect-error nothing is written
    { db: 'app', table: 'notes', can: 'read', sizeMax: 5 },
    // @ts-expect-error runs are added
    { db: 'app', task: 'mail', can: 'write' },
  ]
  const { token, expiresAt } = await cubby.tokens.create({ user: 'ada', grants, expiresIn: 60 })
  holds<Equal<[typeof token, typeof expiresAt], [string, number]>>()
  const own = await cubby.tokens.self()
  holds<Equal<typeof own, OwnToken>>()
  ;(await cubby.tokens.revoke('ada')).revokedAt.toFixed()

  const service = { issuer: 'https://login.test/', audience: 'app', grants }
  await cubby.issuers.put('login', { ...service, keysUrl: 'https://login.test/keys' })
  await cubby.issuers.put('login', { ...service, keys: { keys: [{ kty: 'EC' }] }, user: '{sub}' })
  // @ts-expect-error its keys are missing
  cubby.issuers.put('login', service)
  // @ts-expect-error one of them
  cubby.issuers.put('login', { ...service, keys: { keys: [] }, keysUrl: '' })
  const { issuers } = await cubby.issuers.list()
  holds<Equal<typeof issuers, Issuer[]>>()
  ;(await cubby.issuers.get('login'))?.updatedAt.toFixed()
}
