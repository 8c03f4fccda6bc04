import type { Json } from '../harness.ts'
import type { ReplayedRequest } from './expected.ts'

// This is the content of the store that is kept for later versions, and the requests for it. It has a record for every kind of
// index value, keys that are easy to confuse, and text that must be returned as it was sent.

export const indices = {
  i1: { hashField: 'city', rangeField: 'age' },
  i2: { hashField: 'active' },
  i3: { hashField: 'score', rangeField: 'joined' },
  i4: { hashField: 'joined' },
  i5: { hashField: 'tag', rangeField: 'active' },
}

const record = (hashKey: string, data: string, more: Json = {}): string =>
  `{"hashKey":${JSON.stringify(hashKey)},${Object.entries(more)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`)
    .join('')}"data":${data}}`

const longText = 'ä'.repeat(512)

/** There is one person for each value. The queries below use the same values. */
const cities = ['Oslo', '', 'oslo', 'Oslo\u0000', 'Österåker', '東京', '🏙️', longText]
const ages = [
  '0',
  '-0',
  '-1',
  '1.5',
  '1e300',
  '-1.7976931348623157e308',
  '5e-324',
  '12345678901234567890',
  '9007199254740993',
]
const instants = [
  '"1970-01-01T00:00:00Z"',
  '"2024-02-29T23:59:59.999Z"',
  '"2024-02-29T23:59:59.999999999+05:30"',
  '"1969-12-31T23:59:59.001-00:01"',
  '"2024-02-29"',
  '"2023-02-29T00:00:00Z"',
  '"0000-01-01T00:00:00Z"',
]

export const peopleRecords: string[] = [
  ...cities.map((city, i) => record(`city ${i}`, `{"city":${JSON.stringify(city)},"age":${i}}`)),
  ...ages.map((age, i) => record(`age ${i}`, `{"city":"Rome","age":${age}}`)),
  ...['"forty"', '"é"', 'true', 'false', ...instants].map((age, i) =>
    record(`age kind ${i}`, `{"city":"Rome","age":${age}}`),
  ),
  ...ages.map((score, i) => record(`score ${i}`, `{"score":${score},"joined":"2024-01-0${i + 1}T00:00:00Z"}`)),
  ...instants.map((joined, i) => record(`joined ${i}`, `{"joined":${joined},"active":${i % 2 === 0}}`)),
  record('tags', '{"tag":true,"active":false}'),
  record('tag text', '{"tag":"true","active":true}'),
  record('no range', '{"city":"Oslo"}'),
  record('no hash', '{"age":1}'),
  record('no field', '{}'),
  record('twice in data', '{"city":"first","age":1,"city":"Oslo"}'),
  record('escaped', '{"c\\u0069ty":"\\u004fslo","age":7.0}'),
  record(
    'ada',
    '{ "city" : "Oslo",\n\t"age":36.0, "big":12345678901234567890, "tiny":1E-7, "text":"\\u00e9\\ud83d\\ude00 é😀\\/" }',
  ),
]

/** These keys are easily mistaken for one another, or for the end of a range. */
const rangeKeys = [
  '\u0000',
  '\u0000\u0000',
  'a\u0000b',
  'a',
  '#',
  '"',
  '/',
  '%2F',
  'a/b',
  'a b',
  '..a',
  '😀',
  '\uffff',
  '\ue000',
  'é',
  'e\u0301',
  'Z',
  'z',
  '~',
  'k'.repeat(1_024),
]

const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`

export const plainRecords: string[] = [
  ...rangeKeys.map((rangeKey, i) => record('ranges', `{"at":${i}}`, { rangeKey })),
  ...rangeKeys.map((hashKey, i) => record(hashKey, `{"as":"hash","at":${i}}`)),
  record('deep', nested(64)),
  record('wide', `{"text":"${'x'.repeat(9_000)}"}`),
  record('query', '{"word":true}'),
  record('batch', '{"word":true}', { rangeKey: 'restore' }),
  record('empty', '{}'),
]

export const eventRecords = (writtenAtMs: number): string[] => {
  const second = writtenAtMs / 1000
  return [
    record('for ever', '{"kind":"kept"}'),
    record('until 9999', '{"kind":"kept"}', { ttl: 253402300799 }),
    record('two days', '{"kind":"kept"}', { ttl: second + 2 * 86_400 }),
    record('an hour', '{"kind":"kept"}', { ttl: second + 3_600 }),
    record('gone at once', '{"kind":"kept"}', { ttl: second - 60 }),
  ]
}

export const deletedRecords = [
  '{"hashKey":"a","data":{"n":1}}',
  '{"hashKey":"b","rangeKey":"\\u0000","data":{"n":2.0}}',
]

/** The keys that each organization gets after its first two. */
export const accounts = (writtenAtMs: number): Record<string, Json> => ({
  scoped: { kind: 'secret', name: 'only logs', databases: ['logs'] },
  expiring: { kind: 'public', name: 'for an hour', expiresAt: writtenAtMs + 3_600_000 },
  lasting: { kind: 'public', name: 'for two days 🗝', expiresAt: writtenAtMs + 2 * 86_400_000 },
  revoked: { kind: 'secret', name: 'lost' },
  rolled: { kind: 'public', name: 'rolled' },
})

const get = (path: string, key = 'public'): ReplayedRequest => ({ key, method: 'GET', path })
const query = (table: string, body: Json): ReplayedRequest => ({
  key: 'public',
  method: 'POST',
  path: `${table}/query`,
  body: JSON.stringify(body),
})

/** Files of the bucket `pictures`, with the query string of their upload. */
export const files: [name: string, query: string, bytes: string][] = [
  ['a/b.txt', `ttl=253402300799&metadata=${encodeURIComponent('{ "n": 1.0, "ä": "\\u0041" }')}`, 'text of a file'],
  ['empty', '', ''],
  ['ä 🏙️.txt', 'visibility=public', 'no picture'],
]

const requestsOfFiles = (): ReplayedRequest[] => [
  ...['/v1/app/_buckets', '/v1/app/_buckets?deleted=true', '/v1/app/_buckets/pictures', '/v1/files'].map((path) =>
    get(path),
  ),
  // The record of the public file has the address of the server in it, so it is left out.
  ...files.slice(0, 2).map(([name]) => get(`/v1/app/_buckets/pictures/${encodeURIComponent(name)}?record=true`)),
  ...['empty', 'none'].map((name) => get(`/v1/app/_buckets/pictures/${name}?record=true`, 'public')),
  ...['secret', 'public'].map((key) => ({ ...query('/v1/app/_buckets/pictures', { select: 'count' }), key })),
  query('/v1/app/_buckets/pictures', { prefix: 'a/' }),
  query('/v1/app/_buckets/pictures', { prefix: 'e' }),
]

/**
 * Tasks with their declarations. All are paused: a kept store must not push, and its runs must stay as they are. It has no
 * finished runs, because a database with a clock of its own would remove them.
 */
export const tasks: [name: string, declaration: Json][] = [
  ['mail', { paused: true, attempts: 3, leaseSeconds: 60, keepSeconds: 7_776_000 }],
  [
    'push',
    {
      ...{ paused: true, url: 'https://hooks.example.invalid/run', authorization: 'Bearer of a store', concurrency: 3 },
      schedule: { cron: '0 3 * * mon-fri', timezone: 'Europe/Oslo', payload: { by: 'clock' } },
    },
  ],
  ['gone', { paused: true }],
]

/** Bodies of runs of `mail`. They are text, because the stored text is the sent text. */
export const runs = [
  '{"id":"order-1","payload":{ "n": 1.0, "ä": "\\u0041" },"runAt":0}',
  '{"id":"order-2","runAt":"2026-01-02T03:04:05.678Z"}',
  '{"key":"k \\u0000","payload":{"n":2},"delaySeconds":31536000}',
]

const requestsOfTasks = (): ReplayedRequest[] => [
  ...['/v1/app/_tasks', '/v1/app/_tasks?deleted=true', '/v1/app/_tasks/mail', '/v1/app/_tasks/push'].map((path) =>
    get(path, 'secret'),
  ),
  ...['secret', 'public'].map((key) => get('/v1/app/_tasks/mail/runs/order-1', key)),
  get('/v1/app/_tasks/mail/runs/order-2'),
  get('/v1/app/_tasks/mail/runs/none'),
  ...['secret', 'public'].map((key) => ({ ...query('/v1/app/_tasks/mail', { limit: 2 }), key })),
  query('/v1/app/_tasks/mail', { status: 'queued', ascending: true }),
  query('/v1/app/_tasks/mail', { status: 'succeeded', select: 'count' }),
]

/** Every request that changes nothing. */
export const requestsOf = (): ReplayedRequest[] => [
  ...requestsOfTasks(),
  ...requestsOfFiles(),
  ...['/v1', '/v1/app', '/v1/app?deleted=true', '/v1/logs', '/v1/app?limit=1'].map((path) => get(path)),
  ...['people', 'plain', 'empty', 'gone'].map((table) => get(`/v1/app/${table}`)),
  get('/api/keys', 'secret'),
  ...['scoped', 'expiring', 'lasting', 'revoked', 'other'].map((key) => get('/v1/logs/events', key)),
  get('/v1/app', 'scoped'),
  get('/v1/app/people/ada', 'other'),
  get('/v1/app/people/tags', 'other'),

  ...peopleRecords.map((text) => get(`/v1/app/people/${encodeURIComponent(JSON.parse(text).hashKey)}`)),
  ...rangeKeys.map((rangeKey) => get(`/v1/app/plain/ranges/${encodeURIComponent(rangeKey)}`)),
  ...rangeKeys.map((hashKey) => get(`/v1/app/plain/${encodeURIComponent(hashKey)}`)),
  ...['ranges', 'deep', 'wide', 'query', 'batch/restore', 'empty', 'missing'].map((key) => get(`/v1/app/plain/${key}`)),
  ...['for%20ever', 'until%209999', 'two%20days', 'an%20hour', 'gone%20at%20once'].map((key) =>
    get(`/v1/logs/events/${key}`),
  ),

  query('/v1/app/people', { index: 't', limit: 1000 }),
  query('/v1/app/people', { index: 't', limit: 3, ascending: true }),
  query('/v1/app/people', { index: 'i1', hash: 'Rome' }),
  query('/v1/app/people', { index: 'i1', hash: 'Rome', ascending: false, limit: 5 }),
  query('/v1/app/people', { index: 'i1', hash: 'Rome', range: { between: [-1, 1.5] } }),
  query('/v1/app/people', { index: 'i1', hash: 'Rome', range: { gte: '1970-01-01T00:00:00Z' } }),
  query('/v1/app/people', { index: 'i1', hash: 'Rome', range: { beginsWith: '' } }),
  query('/v1/app/people', { index: 'i1', hash: 'Rome', range: { eq: true } }),
  ...cities.map((city) => query('/v1/app/people', { index: 'i1', hash: city })),
  query('/v1/app/people', { index: 'i2', hash: true }),
  query('/v1/app/people', { index: 'i2', hash: false }),
  query('/v1/app/people', { index: 'i3', hash: 0 }),
  query('/v1/app/people', { index: 'i3', hash: 9007199254740992 }),
  query('/v1/app/people', { index: 'i4', hash: '2024-02-29T23:59:59.999Z' }),
  query('/v1/app/people', { index: 'i4', hash: 0 }),
  query('/v1/app/people', { index: 'i4', hash: '2024-02-29' }),
  query('/v1/app/people', { index: 'i5', hash: true, range: { eq: false } }),
  query('/v1/app/plain', { hash: 'ranges' }),
  query('/v1/app/plain', { hash: 'ranges', ascending: false, limit: 4 }),
  query('/v1/app/plain', { hash: 'ranges', range: { beginsWith: 'a' } }),
  query('/v1/logs/events', { index: 'i1', hash: 'kept' }),
]
