import { beforeAll, describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { slots } from '../../src/core/tables/indices.ts'
import { makeDocument } from '../../src/openapi/document.ts'
import type { ApiResponse, Json } from '../harness.ts'
import { ok, useService } from '../http/service.ts'
import { codesOf, type Operation, operationsOf, parametersOf, responsesOf } from './scenario.ts'
import { arbitraryOf } from './schema-arbitrary.ts'
import { SchemaCheck } from './schema-check.ts'

// Tools that test an API send what its document allows, and what it does not. So do we: a request that follows the
// schemas must not be rejected for its shape, one that breaks them must be, and every answer must be as described.
// Without this the document would be right only in the examples that somebody thought of.

const service = useService({})
const document: Json = JSON.parse(JSON.stringify(makeDocument()))
const check = new SchemaCheck(document)
/** The number of requests for each operation. */
const runs = Number(process.env.CUBBY_TEST_RANDOM_RUNS ?? 40)

/** A 400 that a request may get although it follows the schemas: what JSON Schema cannot say. */
const beyondSchemas: [code: string, message: RegExp][] = [
  ['invalid_cursor', /^cursor /],
  ['invalid_range', /both bounds must have the same type|low bound above|lower bound|t takes epoch milliseconds/],
  ['invalid_ttl', /more than a day in the past/],
  ['invalid_request', /^expiresAt is (in the past|more than 366 days ahead|\d+, which looks like seconds)/],
  ['invalid_request', /^If-None-Match cannot be combined with If-Match/],
  ['invalid_request', /^from is given together with cursor/],
  ['invalid_request', /^Idempotency-Key is not allowed with id/],
  // The header is read for the bytes of a file, but not for its record.
  ['invalid_request', /^If-Match is not allowed on GET/],
  [
    'invalid_request',
    /^increment and append together have more than|name the same place|leads below|can be added exactly/,
  ],
  ['invalid_request', / levels deep; it takes at most /],
  ['batch_duplicate_keys', /names the same (record|run|key)/],
  // A day that its month does not have, or an offset that leads out of the years.
  ['invalid_request', /runAt is "\d{4}-\d\d-\d\dT[^"]+"; it takes epoch milliseconds/],
  ['invalid_schedule', /^schedule\.(cron|timezone) /],
  ['invalid_request', /^url is .*; it takes a URL\.$/],
  ['push_target_refused', /^(url|keysUrl) /],
  ['invalid_request', /^keysUrl is .*; it takes a URL|^keys\.keys\[|^(issuer|audience|user) is "/],
  ['invalid_request', /has \d+ issuers; it takes no more|has the same issuer and audience/],
  ['invalid_grant', /^(grants|user)\b|^The grants do not fit/],
  ['invalid_request', /^leaseSeconds is \d+; for a task with url/],
  ['invalid_request', /^authorization is "\*{4}", which keeps the present one/],
  // These depend on the table, which an earlier request may have created.
  ['index_not_declared', /declares no index/],
  ['invalid_range', /was declared without a rangeField/],
  ['invalid_index_value', /data\./],
]

interface Request {
  path: Record<string, string>
  query: Record<string, Json>
  headers: Record<string, string>
  body?: Json
}

/** Declares every index, over fields that random data does not have. */
const indices = Object.fromEntries(
  slots.map((slot) => [slot, { hashField: `hash-${slot}`, rangeField: `range-${slot}` }]),
)
const own: Record<string, string> = {
  db: 'app',
  table: 'random',
  hashKey: 'a',
  rangeKey: 'b',
  collection: 'app.random',
  id: 'a',
  task: 'random',
  run: 'a',
  name: 'random',
}
/** What a random value never gets right: a public key, and a grant. */
const ownGrants = [{ db: 'app', table: 'random', can: 'read' }]
const ownKeys = { keys: [generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })] }

/** Leaves out what a random value rarely gets right: a cursor of ours, a time in the future, one condition only, a cron pattern, a URL. */
const withoutRiddles = ({ query, headers, body, ...request }: Request): Request => {
  const without = (members: Json, ...names: string[]): Json =>
    Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)))
  // The change of a file has at least one member: one of the ttl alone stays as it is.
  const changed = (whole: Json): Json => {
    const rest = without(whole, 'cursor', 'ttl', 'expiresAt', 'schedule', 'url')
    if (whole.hashKey !== undefined && whole.data === undefined) return { ...rest, ttl: null }
    if (whole.audience !== undefined) return { ...without(rest, 'keysUrl', 'user'), keys: ownKeys, grants: ownGrants }
    if (whole.grants !== undefined) return { ...rest, grants: ownGrants }
    return Object.keys(rest).length === 0 ? whole : rest
  }
  return {
    ...request,
    query: without(query, 'cursor', 'ttl'),
    headers: headers['If-None-Match'] === undefined ? headers : without(headers, 'If-Match'),
    ...(body !== undefined && { body: changed(body) }),
  }
}

/** Nothing waits: an answer would come after up to 20 seconds. */
const withoutWait = ({ query, body, ...request }: Request): Request => {
  const atOnce = (members: Json): Json =>
    members?.waitSeconds === undefined ? members : { ...members, waitSeconds: 0 }
  return { ...request, query: atOnce(query), ...(body !== undefined && { body: atOnce(body) }) }
}

const requestOf = (operation: Operation): fc.Arbitrary<Request> => {
  const parameters = parametersOf(document, operation)
  const of = (where: string): fc.Arbitrary<Json> => {
    const here = parameters.filter((parameter) => parameter.in === where)
    const values = here.map(({ name, schema }) => {
      const any = arbitraryOf(document, schema).filter((value) => where !== 'header' || isHeaderText(value))
      const named = own[name] === undefined ? any : fc.oneof({ arbitrary: fc.constant(own[name]), weight: 4 }, any)
      return [name, named] as const
    })
    const requiredKeys = here.filter(({ required }) => required).map(({ name }) => name)
    return fc.record<Json>(Object.fromEntries(values), { requiredKeys })
  }
  const { requestBody } = operation.object
  const schema = requestBody?.content['application/json'].schema
  const isValid = (body: Json): boolean => check.faults(schema, body).length === 0
  const body = schema === undefined ? fc.constant(undefined) : arbitraryOf(document, schema).filter(isValid)
  const whole = fc.record({ path: of('path'), query: of('query'), headers: of('header'), body })
  return fc
    .tuple(whole, fc.boolean())
    .map(([request, asItIs]) => withoutWait(asItIs ? request : withoutRiddles(request)))
}

/** The text is what a header can carry: visible characters, with spaces between them. */
const isHeaderText = (value: string): boolean => /^([!-~\x80-\xff]([ -~\x80-\xff]*[!-~\x80-\xff])?)?$/.test(value)

const targetOf = ({ path: template }: Operation, { path, query }: Request): string => {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]!))
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return search.size === 0 ? filled : `${filled}?${search}`
}

const send = (operation: Operation, request: Request): Promise<ApiResponse> =>
  service.server.raw(operation.method, targetOf(operation, request), {
    ...(operation.object.security.length > 0 && { key: service.org.secretKey }),
    headers: Object.entries(request.headers),
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
  })

/** Lists what is wrong with an answer to any request. */
const answerFaults = (operation: Operation, answer: ApiResponse): string[] => {
  const response = responsesOf(document, operation).find(({ status }) => status === answer.status)
  if (response === undefined) return [`${answer.status} is not described: ${answer.text}`]
  if (answer.status >= 500) return [`${answer.status}: ${answer.text}`]
  const headers = Object.entries(response.headers).flatMap(([name, { schema, required }]) => {
    const value = answer.headers.get(name)
    if (value === null) return required ? [`no header ${name}`] : []
    return check.faults(schema, schema.type === 'integer' ? Number(value) : value)
  })
  const media = response.content['application/json']
  if (media === undefined || operation.method === 'HEAD') return headers
  const code = answer.body.error?.code
  const undescribed = answer.status >= 400 && !codesOf(response).includes(code) ? [`${code} is not described`] : []
  return [...headers, ...check.faults(media.schema, answer.body), ...undescribed]
}

const isBeyondSchemas = ({ body }: ApiResponse): boolean =>
  beyondSchemas.some(([code, message]) => body.error.code === code && message.test(body.error.message))

/** The table with two records and the task with a run, whatever earlier requests did to them. */
const prepare = async (): Promise<void> => {
  await service.api.put('/v1/app/_tasks/random', {})
  ok(await service.api.post('/v1/app/_tasks/random/batch', { operations: [{ op: 'run', id: own.run }] }))
  await service.api.post('/v1/app/random', { indices })
  const { hashKey, rangeKey } = own
  const operations = [{ hashKey }, { hashKey, rangeKey }].map((key) => ({ op: 'put', ...key, data: {} }))
  ok(await service.api.post('/v1/app/random/batch', { operations }))
}
beforeAll(prepare)

const seen = new Map<number, number>()
const count = (answer: ApiResponse): void => void seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)

/** OPTIONS answers everything alike. Pages and the bytes of a file have no schema. */
const withoutSchema = [
  'getDocsPage',
  'getDocsText',
  'getSkill',
  'getLlmsText',
  'putFile',
  'putFileByUrl',
  'loadRecords',
]
const operations = operationsOf(document).filter(
  ({ method, id }) => method !== 'OPTIONS' && !withoutSchema.includes(id),
)

describe('a request that follows the schemas is not rejected for its shape', () => {
  for (const operation of operations) {
    test(operation.id, async () => {
      let taken = 0
      await fc.assert(
        fc.asyncProperty(requestOf(operation), async (request) => {
          if (/^(delete|restore)(Table|Task)$/.test(operation.id)) await prepare()
          const answer = await send(operation, request)
          count(answer)
          if (answer.status !== 400) taken++
          const rejected = answer.status === 400 && operation.method !== 'HEAD' && !isBeyondSchemas(answer)
          const faults = [...answerFaults(operation, answer), ...(rejected ? [answer.text] : [])]
          expect(faults).toEqual([])
        }),
        { numRuns: runs },
      )
      expect(taken).toBeGreaterThan(runs / 8)
      await prepare()
    })
  }
})

const wild = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    0,
    -1,
    1.5,
    2 ** 53,
    -(2 ** 53),
    1e20,
    '',
    '.',
    '..',
    'a',
    '_a',
    'A',
    'a b',
    [],
    {},
  ),
  fc.constantFrom<Json>('k'.repeat(1_025), '2026-01-05T10:00:00Z', '*', '"a"', ['a'], [1, 2, 3], { a: 1 }, { i6: {} }),
  fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
)

/** Every object in a value except in `data`, which is free. */
const objectsIn = (value: Json): Json[] => {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.entries<Json>(value).flatMap(([name, member]) => (name === 'data' ? [] : objectsIn(member)))
  return [value, ...inside]
}

const spoilBody = (body: Json, pick: number, member: string | undefined, value: Json): Json => {
  const spoiled = structuredClone(body)
  const all = objectsIn(spoiled)
  const one = all[pick % all.length]
  const names = Object.keys(one)
  const name = member ?? names[pick % Math.max(names.length, 1)] ?? 'zzz'
  if (Array.isArray(one)) one.push(value)
  else if (value === undefined) delete one[name]
  else one[name] = value
  return spoiled
}

describe('a body that breaks its schema is rejected', () => {
  for (const operation of operations.filter(({ object }) => object.requestBody !== undefined)) {
    test(operation.id, async () => {
      const { schema } = operation.object.requestBody.content['application/json']
      const isFree = check.faults(schema, { zzz: 1 }).length === 0
      let rejected = 0
      const member = fc.option(fc.constantFrom('zzz', 'limit', 'data', 'hash', 'ttl'), { nil: undefined, freq: 3 })
      const change = fc.tuple(fc.nat(), member, fc.option(wild, { nil: undefined }))
      await fc.assert(
        fc.asyncProperty(requestOf(operation), change, async (request, [pick, name, value]) => {
          // An object with any members breaks its schema only as a whole.
          const body = isFree ? (value ?? null) : spoilBody(request.body, pick, name, value)
          if (check.faults(schema, body).length === 0) return
          rejected++
          const answer = await send(operation, { path: pathOf(operation), query: {}, headers: {}, body })
          count(answer)
          expect([answer.status >= 400 && answer.status < 500, ...answerFaults(operation, answer)]).toEqual([true])
        }),
        { numRuns: runs * 2 },
      )
      expect(rejected).toBeGreaterThan(runs / 4)
    })
  }

  const pathOf = ({ path }: Operation): Record<string, string> =>
    Object.fromEntries(Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => [name!, own[name!] ?? 'a']))
})

/** The value of a parameter that is sent as text. */
const readAs = (type: string, text: string): Json => {
  if (type === 'integer' && /^-?\d+$/.test(text)) return Number(text)
  return type === 'boolean' && /^(true|false)$/.test(text) ? JSON.parse(text) : text
}

describe('a parameter that breaks its schema is rejected', () => {
  const values = fc.oneof(
    fc.string({ unit: 'grapheme-ascii', maxLength: 20 }),
    fc.constantFrom(
      '',
      '0',
      '-1',
      '1.5',
      '9'.repeat(20),
      'true',
      'True',
      '1',
      '_a',
      'a'.repeat(65),
      '.',
      '..',
      '"1"',
      '1,2',
    ),
  )
  for (const operation of operations) {
    for (const { name, in: where, schema } of parametersOf(document, operation)) {
      test(`${operation.id} ${name}`, async () => {
        await fc.assert(
          fc.asyncProperty(requestOf(operation), values, async (request, value) => {
            // An empty segment is another path.
            if (where === 'path' && value === '') return
            if (where === 'header' && !isHeaderText(value)) return
            const isValid = check.faults(schema, readAs(schema.type, value)).length === 0
            const part = where === 'header' ? 'headers' : (where as 'path' | 'query')
            const fixed = { ...request, query: {}, headers: {}, path: { ...request.path, ...ownOf(request.path) } }
            const answer = await send(operation, { ...fixed, [part]: { ...fixed[part], [name]: value } })
            count(answer)
            const isExcused = isValid && operation.method !== 'HEAD' && answer.status === 400 && isBeyondSchemas(answer)
            if (!isExcused) expect([value, answer.status === 400]).toEqual([value, !isValid])
            expect(answerFaults(operation, answer)).toEqual([])
            if (operation.id === 'deleteTable') await prepare()
          }),
          { numRuns: runs / 2 },
        )
        await prepare()
      })
    }
  }

  const ownOf = (path: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.keys(path).flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])))
})

test('answers of every kind came', () => {
  expect([...seen.keys()].sort()).toEqual(expect.arrayContaining([200, 201, 400, 404, 409, 412]))
})
