import { beforeAll, describe, expect, test } from 'bun:test'
import {
  batchBodyBytesMax,
  batchOperationsMax,
  bodyBytesMax,
  dataBytesMax,
  databaseBatchOperationsMax,
  fileBytesMax,
  findKeysMax,
  plainBodyBytesMax,
} from '../../src/core/limits.ts'
import { makeDocument } from '../../src/openapi/document.ts'
import type { Api, ApiResponse, Json } from '../harness.ts'
import { contentDigest } from '../http/bucket.ts'
import { createExpiredKey, createKey, createRevokedKey, ok, useService } from '../http/service.ts'
import { asUser } from '../http/user.ts'
import { codesOf, type Operation, operationsOf, resolve, responsesOf, scenariosOf } from './scenario.ts'
import { SchemaCheck } from './schema-check.ts'
import { Stage } from './stage.ts'

// Programs rely on the documented codes of an operation. Here a wrong request of each kind is sent to each operation: the
// documented codes must occur, and every code that occurs must be documented.

const service = useService({ clock: true })
const document: Json = JSON.parse(JSON.stringify(makeDocument()))
const check = new SchemaCheck(document)
const keys: Record<'expired' | 'revoked' | 'limited', string> = { expired: '', revoked: '', limited: '' }
/** User tokens. `other`: with a grant for something else. */
const tokens = { expired: '', revoked: '', other: '' }
const stage = new Stage()

beforeAll(async () => {
  keys.expired = (await createExpiredKey(service.api)).key
  keys.revoked = (await createRevokedKey(service.api)).key
  keys.limited = (await createKey(service.api, { kind: 'secret', databases: ['blog'] })).key
  const ending = await createKey(service.api, { kind: 'secret', expiresAt: Date.now() + 1_000 })
  const other = [{ db: 'blog', table: 'posts', can: 'read' as const }]
  const tokenOf = async (user: string, api = service.api): Promise<string> => (await asUser(api, user, other)).key
  tokens.expired = await tokenOf('ada', service.server.as(ending.key))
  tokens.revoked = await tokenOf('bob')
  ok(await service.api.post('/api/tokens/revoke', { user: 'bob' }))
  tokens.other = await tokenOf('ada')
  for (const { method, path, body, answer } of document['x-given']) {
    const came = await service.api.request(method, path, body)
    stage.expectSame(answer, came.body, `${method} ${path}`)
  }
  // The bucket and the file that the examples of files use.
  ok(await service.api.post('/v1/app/_buckets/avatars'), 201)
  ok(await service.api.raw('PUT', '/v1/app/_buckets/avatars/ada/small.png', { body: 'the bytes of a picture' }))
  ok(await service.api.put('/v1/app/_tasks/mail', {}), 201)
  ok(await service.api.post('/v1/app/_tasks/mail/run', { id: 'order-o-1', payload: { order: 'o-1' } }), 201)
  // Each thing that an idempotency key belongs to has used this one.
  const used = { 'Idempotency-Key': usedKey }
  ok(await service.api.request('DELETE', '/v1/app/orders/nobody', undefined, used))
  const deletes = { operations: [{ op: 'delete', table: 'orders', hashKey: 'nobody' }] }
  ok(await service.api.post('/v1/app/_batch', deletes, used))
  ok(await service.api.post('/v1/app/_tasks/mail/run', { delaySeconds: 86_400 }, used), 201)
  ok(await service.api.post('/api/keys', { kind: 'public', name: 'used' }, used), 201)
  const signer = await createKey(service.api, { kind: 'secret' })
  for (const method of ['GET', 'PUT'] as const) {
    urls.valid[method] = await signUrl(service.api, method, 600)
    urls.expired[method] = await signUrl(service.api, method, 1)
    urls.revoked[method] = await signUrl(service.server.as(signer.key), method, 600)
  }
  ok(await service.api.delete(`/api/keys/${signer.id}`))
  service.server.setClock(2_000)
})

const usedKey = 'used'

/** Targets of signed URLs. */
const urls = { valid: { GET: '', PUT: '' }, expired: { GET: '', PUT: '' }, revoked: { GET: '', PUT: '' } }

const signUrl = async (api: Api, method: 'GET' | 'PUT', expiresIn: number): Promise<string> => {
  const body = { name: 'ada/small.png', method, expiresIn, ...(method === 'PUT' && { replace: true }) }
  return ok(await api.post('/v1/app/_buckets/avatars/url', body)).url.slice(service.server.url.length)
}

/** True for operations at the URL of a file. */
const isByUrl = ({ path }: Operation): boolean => path.startsWith('/files/')
const urlFor = (kind: keyof typeof urls, { method }: Operation): string => urls[kind][method === 'PUT' ? 'PUT' : 'GET']

interface Request {
  method: string
  target: string
  key?: string
  headers: Record<string, string>
  body: string | undefined
}

/**
 * The example of the operation that succeeds with the least: another may have a condition, which holds only once. An operation
 * for which an API key is not enough has none that succeeds.
 */
const goodRequest = (operation: Operation): Request => {
  const scenarios = scenariosOf(document, operation)
  const succeeding = scenarios.filter(({ response }) => response.status < 300)
  const good = succeeding.length === 0 ? scenarios : succeeding
  const lengthOf = ({ target, headers }: (typeof good)[0]): number => target.length + JSON.stringify(headers).length
  const { target, headers, body, bytes } = good.sort((a, b) => lengthOf(a) - lengthOf(b))[0]!
  return {
    method: operation.method,
    target: isByUrl(operation) ? urlFor('valid', operation) : target,
    key: operation.object.security.length > 0 ? service.org.secretKey : undefined,
    headers: bytes === undefined ? headers : { ...headers, 'Content-Type': bytes.type },
    // A login token ends, so no example has a whole one.
    body: isOfLogin(operation) ? '{"token":"eyJ.e30.x"}' : (bytes?.text ?? stage.translateBody(body)),
  }
}

const send = ({ method, target, key, headers, body }: Request): Promise<ApiResponse> =>
  service.server.raw(method, target, { key, body, headers: Object.entries(headers) })

/** The path with the last of its parameters, or a certain one, replaced. */
const withSegment = ({ path }: Operation, target: string, segment: string, name?: string): string => {
  const templates = path.split('/')
  const at =
    name === undefined ? templates.findLastIndex((part) => part.startsWith('{')) : templates.indexOf(`{${name}}`)
  const [base, query] = target.split('?') as [string, string?]
  const filled = base.split('/').with(at, segment).join('/')
  return query === undefined ? filled : `${filled}?${query}`
}

const add = (target: string, parameter: string): string => `${target}${target.includes('?') ? '&' : '?'}${parameter}`

const record = (bytes: number): Json => ({ hashKey: 'a', data: { text: 'x'.repeat(bytes - '{"text":""}'.length) } })

const hasKey = ({ object }: Operation): boolean => object.security.length > 0
const hasBody = ({ object }: Operation): boolean => object.requestBody !== undefined
const names = (part: string) => (operation: Operation) => operation.path.includes(`{${part}}`)
const namesDatabase = (operation: Operation): boolean => names('db')(operation) || names('collection')(operation)
const withDatabase = (to: Operation, target: string, db: string): string =>
  names('db')(to) ? withSegment(to, target, db, 'db') : withSegment(to, target, `${db}.orders`, 'collection')
const isOfIssuer = ({ path }: Operation): boolean => path === '/api/issuers/{name}'
const withName = (to: Operation, target: string, name: string): string =>
  isOfIssuer(to) ? withSegment(to, target, name) : withDatabase(to, target, name)
const isPut = ({ id }: Operation): boolean => id === 'putRecord'
const isItemPut = ({ id }: Operation): boolean => id === 'putItem'
const isPatch = ({ id }: Operation): boolean => id === 'patchRecord'
const isItemPatch = ({ id }: Operation): boolean => id === 'patchItem'
const isOfItem = ({ path }: Operation): boolean => path === '/api/collections/{collection}/items/{id}'
const takesPatch = (operation: Operation): boolean => operation.path === '/v1/{db}/{table}' || isOfItem(operation)
const isDatabaseBatch = ({ id }: Operation): boolean => id === 'applyDatabaseBatch'
const isBatch = (operation: Operation): boolean => operation.id === 'applyBatch' || isDatabaseBatch(operation)
/** The body of a batch over tables with this operation on a record. */
const recordBody = (operation: Json, to?: Operation): { body: string } => ({
  body: JSON.stringify({
    operations: [{ ...(to?.id !== 'applyBatch' && { table: 'orders' }), hashKey: 'ada', ...operation }],
  }),
})
const isTaskBatch = ({ id }: Operation): boolean => id === 'applyTaskBatch'
const isRun = ({ id }: Operation): boolean => id === 'runTask'
const isFinish = ({ id }: Operation): boolean => id === 'finishRun'
const takesRuns = (operation: Operation): boolean => isBatch(operation) || isTaskBatch(operation)
/** The body of a batch with these operations on runs of the task of the examples. */
const runsBody = (...operations: Json[]): { body: string } => ({
  body: JSON.stringify({ operations: operations.map((operation) => ({ task: 'mail', ...operation })) }),
})
const isDeclaration = ({ id }: Operation): boolean => id === 'declareTask'
/** Bodies of 1 MiB, apart from those of records. */
const hasLargeBody = ({ id }: Operation): boolean => ['declareTask', 'runTask', 'finishRun'].includes(id)
const isLoad = ({ id }: Operation): boolean => id === 'loadRecords'
const isPutFile = ({ id }: Operation): boolean => id === 'putFile' || id === 'putFileByUrl'
const isQueryFiles = ({ id }: Operation): boolean => id === 'queryFiles'
/** Below a bucket every method of a file has a meaning, on the paths of verbs too. */
const isBelowBucket = ({ path }: Operation): boolean => path.startsWith('/v1/{db}/_buckets/{bucket}/')
const isFind = ({ id }: Operation): boolean => id === 'findRecords'
const endsInParameter = ({ path }: Operation): boolean => path.endsWith('}')

/** The change that makes a good request meet the code, and the operations for which that can be tried. */
const faults: Record<
  string,
  { tries(operation: Operation): boolean; spoil(good: Request, to: Operation): Partial<Request> }
> = {
  idempotency_key_reused: {
    tries: ({ object }) =>
      (object.parameters ?? []).some((one: Json) => resolve(document, one).name === 'Idempotency-Key'),
    spoil: ({ headers, body }, to) => ({
      headers: { ...headers, 'Idempotency-Key': usedKey },
      // A run with an id takes no key.
      ...(isRun(to) ? { body: '{}' } : { body }),
    }),
  },
  missing_api_key: { tries: hasKey, spoil: () => ({ key: undefined }) },
  invalid_api_key: { tries: hasKey, spoil: () => ({ key: 'svc_live_nonsense' }) },
  expired_api_key: { tries: hasKey, spoil: () => ({ key: keys.expired }) },
  revoked_api_key: {
    tries: (one) => hasKey(one) || isByUrl(one),
    spoil: (_, to) => (isByUrl(to) ? { target: urlFor('revoked', to) } : { key: keys.revoked }),
  },
  invalid_token: { tries: hasKey, spoil: () => ({ key: 'svc_user_nonsense' }) },
  expired_token: { tries: hasKey, spoil: () => ({ key: tokens.expired }) },
  revoked_token: { tries: hasKey, spoil: () => ({ key: tokens.revoked }) },
  // Every token may describe itself; a key may not.
  not_granted: { tries: hasKey, spoil: (_, to) => (to.id === 'describeOwnToken' ? {} : { key: tokens.other }) },
  invalid_signature: { tries: isByUrl, spoil: ({ target }) => ({ target: add(target, 'v=1') }) },
  expired_url: { tries: isByUrl, spoil: (_, to) => ({ target: urlFor('expired', to) }) },
  read_only_key: {
    tries: hasKey,
    spoil: (_, to) => ({
      key: service.org.publicKey,
      ...(isQueryFiles(to) && { body: '{"expiresIn":60}' }),
      ...(to.id === 'getFileUrl' && { body: '{"name":"x","method":"PUT"}' }),
    }),
  },
  key_scope: { tries: hasKey, spoil: () => ({ key: keys.limited }) },
  secret_key_in_browser: {
    tries: hasKey,
    spoil: ({ headers }) => ({ headers: { ...headers, 'Sec-Fetch-Site': 'cross-site' } }),
  },
  route_not_found: {
    tries: ({ path }) => path.includes('{'),
    spoil: ({ target }, to) => ({ target: withSegment(to, target, '') }),
  },
  method_not_allowed: {
    tries: () => true,
    spoil: (_, to) => ({ method: isBelowBucket(to) || takesPatch(to) ? 'TRACE' : 'PATCH', body: undefined }),
  },
  invalid_name: {
    tries: (one) => namesDatabase(one) || isOfIssuer(one),
    spoil: ({ target }, to) => ({ target: withName(to, target, 'Shop') }),
  },
  reserved_name: {
    tries: (one) => namesDatabase(one) || isOfIssuer(one),
    spoil: ({ target }, to) => ({ target: withName(to, target, '_shop') }),
  },
  invalid_request: {
    tries: (one) => hasKey(one) || one.id === 'putFileByUrl' || one.id === 'getDescription',
    spoil: ({ target, headers }, to) => {
      if (to.id === 'getDescription') return { target: add(target, 'area=record') }
      return isByUrl(to) ? { headers: { ...headers, 'If-Match': '*' } } : { target: add(target, 'pretty=true') }
    },
  },
  invalid_key: {
    tries: (operation) =>
      isRun(operation) ||
      isPatch(operation) ||
      isTaskBatch(operation) ||
      isDatabaseBatch(operation) ||
      operation.id === 'rollApiKey' ||
      operation.id === 'readChanges' ||
      (endsInParameter(operation) && ['hashKey', 'id', 'name'].some((part) => names(part)(operation))),
    spoil: ({ target }, to) => {
      if (isRun(to)) return { body: '{"id":"order 1"}' }
      if (isPatch(to)) return { body: '{"hashKey":"","ttl":null}' }
      if (isDatabaseBatch(to)) return recordBody({ op: 'delete', hashKey: '' })
      if (to.id === 'readChanges') return { body: '{"hash":""}' }
      if (to.id === 'rollApiKey') return { target: target.replace(/[^/]+(?=\/roll)/, '%ff') }
      return isTaskBatch(to) ? runsBody({ op: 'run', key: '' }) : { target: withSegment(to, target, '%ff') }
    },
  },
  invalid_cursor: {
    tries: ({ method, path, id }) =>
      id === 'queryFiles' ||
      id === 'queryRuns' ||
      (method === 'GET' && ['/v1', '/v1/{db}', '/v1/{db}/_buckets', '/v1/{db}/_tasks', '/api/keys'].includes(path)),
    spoil: ({ target }, to) =>
      isQueryFiles(to) || to.id === 'queryRuns'
        ? { body: '{"cursor":"nonsense"}' }
        : { target: add(target, 'cursor=nonsense') },
  },
  invalid_json: { tries: hasBody, spoil: () => ({ body: '{hashKey: "ada"}' }) },
  body_too_large: {
    tries: hasBody,
    spoil: (_, to) => ({
      body: ' '.repeat(
        (isBatch(to) || to.id === 'applyTaskBatch'
          ? batchBodyBytesMax
          : isPut(to) || isPatch(to) || isItemPut(to) || isItemPatch(to) || isFind(to) || hasLargeBody(to)
            ? bodyBytesMax
            : plainBodyBytesMax) + 1,
      ),
    }),
  },
  unsupported_media_type: {
    tries: hasBody,
    spoil: ({ headers }, to) => ({
      body: '{}',
      headers: { ...headers, 'Content-Type': isPutFile(to) ? 'multipart/form-data' : 'text/plain' },
    }),
  },
  table_not_found: {
    // If there is no such table it can be created: that is no fault.
    tries: (operation) =>
      isDatabaseBatch(operation) ||
      ((names('table')(operation) || names('collection')(operation)) && operation.id !== 'createTable'),
    spoil: ({ target }, to) => ({
      ...(isDatabaseBatch(to) && recordBody({ op: 'delete', table: 'invoices' })),
      target: isDatabaseBatch(to)
        ? target
        : names('table')(to)
          ? withSegment(to, target, 'invoices', 'table')
          : withSegment(to, target, 'app.invoices', 'collection'),
    }),
  },
  bucket_not_found: {
    tries: (operation) => names('bucket')(operation) && operation.id !== 'createBucket',
    spoil: ({ target }, to) => ({ target: withSegment(to, target, 'invoices', 'bucket') }),
  },
  task_not_found: {
    tries: (operation) => isBatch(operation) || (names('task')(operation) && !isDeclaration(operation)),
    spoil: ({ target }, to) =>
      isBatch(to) ? runsBody({ op: 'run', task: 'invoices' }) : { target: withSegment(to, target, 'invoices', 'task') },
  },
  run_not_found: {
    tries: (operation) => takesRuns(operation) || names('run')(operation),
    spoil: ({ target }, to) =>
      takesRuns(to)
        ? runsBody({ op: 'finish', run: 'order-o-9', lease: 'x' })
        : { target: withSegment(to, target, 'order-o-9', 'run') },
  },
  run_exists: { tries: takesRuns, spoil: () => runsBody({ op: 'run', id: 'order-o-1' }) },
  lease_lost: { tries: takesRuns, spoil: () => runsBody({ op: 'finish', run: 'order-o-1', lease: 'x' }) },
  batch_duplicate_keys: {
    tries: takesRuns,
    spoil: () => runsBody({ op: 'run', id: 'order-o-1' }, { op: 'finish', run: 'order-o-1', lease: 'x' }),
  },
  invalid_ttl: {
    tries: (operation) =>
      isDatabaseBatch(operation) ||
      operation.id === 'putFile' ||
      isItemPut(operation) ||
      isPatch(operation) ||
      isItemPatch(operation),
    spoil: ({ target }, to) =>
      isDatabaseBatch(to)
        ? recordBody({ op: 'put', data: {}, ttl: 4102444800000 })
        : isPatch(to)
          ? { body: '{"hashKey":"a","ttl":4102444800000}' }
          : { target: add(target, 'ttl=4102444800000') },
  },
  invalid_index_value: {
    tries: isDatabaseBatch,
    spoil: () => recordBody({ op: 'put', data: { status: [] } }),
  },
  not_a_number: {
    tries: isBatch,
    spoil: (_, to) => recordBody({ op: 'patch', rangeKey: 'o-1', increment: { '/status': 1 } }, to),
  },
  not_an_array: {
    tries: isBatch,
    spoil: (_, to) => recordBody({ op: 'patch', rangeKey: 'o-1', append: { '/status': [1] } }, to),
  },
  private_file: {
    tries: ({ id }) => id === 'getFile' || id === 'getFileUrl',
    spoil: () => ({ key: service.org.publicKey }),
  },
  digest_mismatch: {
    tries: isPutFile,
    spoil: ({ headers }) => ({ body: 'hello', headers: { ...headers, 'Content-Digest': contentDigest('world') } }),
  },
  file_too_large: {
    tries: isPutFile,
    spoil: ({ headers }) => ({ headers: { ...headers, 'Content-Length': String(fileBytesMax + 1) } }),
  },
  record_too_large: {
    tries: (operation) =>
      isPut(operation) ||
      isPatch(operation) ||
      isItemPut(operation) ||
      isItemPatch(operation) ||
      takesRuns(operation) ||
      isRun(operation) ||
      isFinish(operation) ||
      isDeclaration(operation),
    spoil: (_, to) => {
      const large = record(dataBytesMax + 1)
      if (isItemPut(to) || isItemPatch(to)) return { body: JSON.stringify(large.data) }
      if (isPatch(to)) return { body: JSON.stringify({ hashKey: 'a', merge: large.data }) }
      if (isRun(to)) return { body: JSON.stringify({ payload: large.data }) }
      if (isFinish(to)) return { body: JSON.stringify({ lease: 'x', result: large.data }) }
      if (isTaskBatch(to)) return runsBody({ op: 'run', payload: large.data })
      if (isDeclaration(to)) return { body: JSON.stringify({ schedule: { every: 60, payload: large.data } }) }
      if (isDatabaseBatch(to)) return recordBody({ op: 'put', ...large })
      return { body: JSON.stringify(isPut(to) ? large : { operations: [{ op: 'put', ...large }] }) }
    },
  },
  batch_too_large: {
    tries: (operation) => takesRuns(operation) || isFind(operation),
    spoil: (_, to) => {
      if (isTaskBatch(to)) return runsBody(...Array.from({ length: batchOperationsMax + 1 }, () => ({ op: 'run' })))
      if (isFind(to)) {
        const keys = Array.from({ length: findKeysMax + 1 }, (_, i) => ({ hashKey: `k${i}` }))
        return { body: JSON.stringify({ keys }) }
      }
      const most = isDatabaseBatch(to) ? databaseBatchOperationsMax : batchOperationsMax
      const operations = Array.from({ length: most + 1 }, (_, i) => ({ op: 'delete', hashKey: `k${i}` }))
      return { body: JSON.stringify({ operations }) }
    },
  },
}

/** No request brings these about: they need a machine that fails. Tests of the engines make them. */
const notByRequest = ['internal', 'store_damaged', 'outcome_unknown', 'unavailable', 'storage_full']
/** Only a good login token leads to these. */
const afterLogin = ['invalid_grant', 'key_scope']
const isOfLogin = ({ id }: Operation): boolean => id === 'exchangeToken'
const isTried = (operation: Operation, code: string): boolean =>
  faults[code]?.tries(operation) === true && !(isOfLogin(operation) && afterLogin.includes(code))

/** Codes whose example is shared by many operations, so the operation has no example of its own to replay. */
const sharedCodes = (operation: Operation): string[] =>
  responsesOf(document, operation).flatMap((response) => {
    const { examples = {} } = response.content['application/json'] ?? {}
    return codesOf(response).filter((code) => examples[code]?.$ref !== undefined)
  })

const isDescribed = (operation: Operation, answer: ApiResponse): boolean => {
  const response = responsesOf(document, operation).find(({ status }) => status === answer.status)
  if (response === undefined) return false
  return answer.status < 400 || operation.method === 'HEAD' || codesOf(response).includes(answer.body.error.code)
}

const seen = new Map<string, ApiResponse[]>()

// OPTIONS answers everything alike.
for (const operation of operationsOf(document).filter(({ method }) => method !== 'OPTIONS')) {
  describe(`${operation.method} ${operation.path}`, () => {
    const shared = sharedCodes(operation)

    test('every code that it is said to answer is tried, or is shown by an example of its own', () => {
      const untried = shared.filter((code) => !notByRequest.includes(code) && !isTried(operation, code))
      expect(untried).toEqual(isOfLogin(operation) ? afterLogin : [])
    })

    for (const [code, { spoil }] of Object.entries(faults)) {
      if (!isTried(operation, code)) continue
      const expected = shared.includes(code)
      test(expected ? code : `the response to a request for ${code} is documented`, async () => {
        const good = goodRequest(operation)
        const answer = await send({ ...good, ...spoil(good, operation) })
        if (expected) expect([answer.status, answer.body?.error.code]).toEqual([statusOfCode(operation, code), code])
        else
          expect([isDescribed(operation, answer), answer.status, answer.text]).toEqual([
            true,
            answer.status,
            answer.text,
          ])
        if (!expected) return
        const { schema } = responsesOf(document, operation).find(({ status }) => status === answer.status)!.content[
          'application/json'
        ]
        expect(check.faults(schema, answer.body)).toEqual([])
        seen.set(code, [...(seen.get(code) ?? []), answer])
      })
    }
  })
}

const statusOfCode = (operation: Operation, code: string): number =>
  responsesOf(document, operation).find((response) => codesOf(response).includes(code))!.status

describe('the shared example of', () => {
  for (const [code, { value }] of Object.entries<Json>(document.components.examples)) {
    if (notByRequest.includes(code)) continue
    test(`${code} is an answer that came, word for word`, async () => {
      // Operations that a key alone can make answer this have examples of their own.
      if (code === 'invalid_grant') seen.set(code, [await service.api.post('/api/tokens', { user: 'ada', grants: [] })])
      const text = ({ message, field, hint }: Json) =>
        JSON.stringify([message, field, hint]).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<a time>')
      expect((seen.get(code) ?? []).map(({ body }) => text(body.error))).toContain(text(value.error))
    })
  }
})

describe('what a request knows', () => {
  /** `Known fields: a, b.` as a list; `It takes none.` is an empty one. */
  const known = (answer: ApiResponse): string[] => {
    const { hint } = answer.body.error
    if (hint.startsWith('It takes none.')) return []
    return /Known \w+: ([^.]*)\./.exec(hint)?.[1]?.split(', ').sort() ?? [`? ${hint}`]
  }
  const schemaNamed = (schema: Json): Json => document.components.schemas[schema.$ref.split('/').at(-1)]
  const fieldsOf = (schema: Json): string[] => {
    const whole = schema.$ref === undefined ? schema : schemaNamed(schema)
    const forms = whole.oneOf ?? whole.anyOf
    return forms === undefined ? Object.keys(whole.properties) : [...new Set<string>(forms.flatMap(fieldsOf))]
  }
  const all = operationsOf(document)

  test('of query parameters is what is described', async () => {
    for (const operation of all.filter(hasKey)) {
      if (operation.method === 'HEAD') continue
      const good = goodRequest(operation)
      const answer = await send({ ...good, target: add(good.target, 'zzz=1') })
      const described = (operation.object.parameters ?? [])
        .map((parameter: Json) => resolve(document, parameter))
        .filter((parameter: Json) => parameter.in === 'query')
        .map((parameter: Json) => parameter.name)
      expect([operation.id, ...known(answer)]).toEqual([operation.id, ...described.sort()])
    }
  })

  test('of fields in a body is what is described', async () => {
    // The body of an item has any fields, that of a file is its bytes, and that of a load its lines.
    for (const operation of all.filter(
      (one) => hasBody(one) && !isItemPut(one) && !isItemPatch(one) && !isPutFile(one) && !isLoad(one),
    )) {
      const good = goodRequest(operation)
      const body = JSON.stringify({ ...JSON.parse(good.body ?? '{}'), zzz: 1 })
      const answer = await send({ ...good, body })
      const { schema } = operation.object.requestBody.content['application/json']
      expect([operation.id, ...known(answer)]).toEqual([operation.id, ...fieldsOf(schema).sort()])
    }
  })

  test('of fields in a key of a find is what is described', async () => {
    const body = JSON.stringify({ keys: [{ hashKey: 'a', zzz: 1 }] })
    const answer = await send({ ...goodRequest(all.find(isFind)!), body })
    expect(known(answer)).toEqual(fieldsOf(document.components.schemas.RecordKey).sort())
  })

  test('of fields in an operation of a batch is what is described', async () => {
    const batch = all.find(isBatch)!
    for (const [op, schema] of [
      ['put', 'PutOperation'],
      ['patch', 'PatchOperation'],
      ['delete', 'DeleteOperation'],
    ] as const) {
      const operations = [{ op, hashKey: 'a', ...(op === 'put' && { data: {} }), zzz: 1 }]
      const answer = await send({ ...goodRequest(batch), body: JSON.stringify({ operations }) })
      expect([op, ...known(answer)]).toEqual([op, ...fieldsOf(document.components.schemas[schema]).sort()])
    }
  })
})
