import type { CurlRequest } from '../curl.ts'
import { literal, Source, typescript } from './literal.ts'

export interface ClientCall {
  /** A line that makes the object of the call, or an empty one. */
  setup: string
  text: string
  /** The name of what it returns. */
  result: string
}

const call = (object: string, method: string, given: unknown[]): string => {
  const name = `${object}.${method}(`
  // Only the last argument may be long.
  const texts = given.map((value) => literal(value, typescript, 0, name.length + 14))
  return `${name}${texts.join(', ')})`
}

/** `limit=1&deleted=true` as options. */
const optionsOf = (query: URLSearchParams): Record<string, unknown>[] => {
  const options = [...query].map(([name, text]) => [name, /^(\d+|true|false)$/.test(text) ? new Source(text) : text])
  return options.length === 0 ? [] : [Object.fromEntries(options)]
}

/** The condition of a write as the client writes it; undefined if it has none for one of the headers. */
const writeOptions = (headers: Record<string, string>): Record<string, unknown>[] | undefined => {
  const options: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'If-Match') options.ifMatch = value === '*' ? value : Number(value.replaceAll('"', ''))
    else if (name === 'If-None-Match' && value === '*') options.ifAbsent = true
    else if (name === 'Prefer') options.minimal = true
    else return undefined
  }
  return Object.keys(options).length === 0 ? [] : [options]
}

/** The client names a version `ifMatch`, as it does for single records. */
const batchOperation = ({ ifUpdatedAt, ...operation }: Record<string, unknown>): Record<string, unknown> => {
  if (ifUpdatedAt === undefined) return operation
  return ifUpdatedAt === null ? { ...operation, ifAbsent: true } : { ...operation, ifMatch: ifUpdatedAt }
}

/** A string names a record without a range key. */
const keyOf = (hashKey: string, rangeKey?: string): unknown =>
  rangeKey === undefined ? hashKey : { hashKey, rangeKey }

const identifier = (name: string, otherwise: string): string => (/^[a-z][a-z0-9_]*$/.test(name) ? name : otherwise)

const bodyOf = ({ body }: CurlRequest): unknown[] => (body === undefined ? [] : [body])

/** Tables, buckets and tasks are managed alike. */
const manageCall = (
  request: CurlRequest,
  result: 'table' | 'bucket' | 'task',
  object: string,
  name: string,
  verb?: string,
): ClientCall | undefined => {
  const made = (method: string, given: unknown[] = []) => ({
    setup: '',
    text: call(object, method, [name, ...given]),
    result,
  })
  if (request.method === 'GET') return made('describe')
  if (request.method === 'DELETE') return made('drop')
  if (request.method !== 'POST') return undefined
  return made(verb ?? 'create', bodyOf(request))
}

const recordsCall = (request: CurlRequest, db: string, segments: string[]): ClientCall | undefined => {
  const [table, first, second] = segments as [string, string | undefined, string | undefined]
  const object = identifier(table, 'table')
  const setup = `const ${object} = cubby.db(${literal(db, typescript)}).table(${literal(table, typescript)})\n`
  const made = (method: string, given: unknown[], result: string) => ({
    setup,
    text: call(object, method, given),
    result,
  })
  const { method, headers, body } = request
  const options = writeOptions(headers)
  if (options === undefined) return undefined
  if (method === 'PUT') return made('save', [body, ...options], 'record')
  if (method === 'POST' && first === 'query') {
    const { select, ...query } = body as Record<string, unknown>
    return select === 'count' ? made('count', [query], 'count') : made('query', [body], 'page')
  }
  if (method === 'POST' && first === 'find') {
    const { keys } = body as { keys: { hashKey: string; rangeKey?: string }[] }
    return made('find', [keys.map(({ hashKey, rangeKey }) => keyOf(hashKey, rangeKey))], 'records')
  }
  if (method === 'POST' && first === 'batch') {
    const { operations } = body as { operations: Record<string, unknown>[] }
    return made('batch', [operations.map(batchOperation)], 'done')
  }
  if (method === 'GET' && options.length === 0) return made('findOne', [keyOf(first!, second)], 'record')
  if (method === 'DELETE') return made('remove', [keyOf(first!, second), ...options], 'done')
  return undefined
}

/** Type and parameters of an upload as the client writes them. */
const putOptions = (headers: Record<string, string>, query: URLSearchParams): Record<string, unknown>[] | undefined => {
  const { 'Content-Type': contentType, ...conditions } = headers
  const condition = writeOptions(conditions)
  if (condition === undefined) return undefined
  const { metadata, ...parameters } = optionsOf(query)[0] ?? {}
  const options = {
    ...(contentType !== undefined && { contentType }),
    ...parameters,
    ...(metadata !== undefined && { metadata: JSON.parse(metadata as string) }),
    ...condition[0],
  }
  return Object.keys(options).length === 0 ? [] : [options]
}

const filesCall = (
  request: CurlRequest,
  db: string,
  [bucket, ...segments]: string[],
  query: URLSearchParams,
): ClientCall | undefined => {
  const object = identifier(bucket!, 'bucket')
  const setup = `const ${object} = cubby.db(${literal(db, typescript)}).bucket(${literal(bucket, typescript)})\n`
  const made = (method: string, given: unknown[], result: string) => ({
    setup,
    text: call(object, method, given),
    result,
  })
  const name = segments.join('/')
  const { method, headers, body, bytes } = request
  if (method === 'PUT') {
    const options = putOptions(headers, query)
    return options && made('put', [name, bytes ?? '', ...options], 'file')
  }
  const options = writeOptions(headers)
  if (options === undefined) return undefined
  if (method === 'POST' && name === 'query') {
    const { select, ...rest } = (body ?? {}) as Record<string, unknown>
    const given = Object.keys(rest).length === 0 ? [] : [rest]
    return select === 'count' ? made('count', given, 'count') : made('query', given, 'page')
  }
  if (method === 'POST' && name === 'url') {
    const { name: file, ...rest } = body as Record<string, unknown>
    return made('getUrl', Object.keys(rest).length === 0 ? [file] : [file, rest], 'link')
  }
  if (method === 'GET' && query.get('record') === 'true') return made('describe', [name], 'file')
  if (method === 'PATCH') return made('update', [name, body, ...options], 'file')
  return method === 'DELETE' ? made('remove', [name, ...options], 'done') : undefined
}

const bucketsCall = (
  request: CurlRequest,
  db: string,
  segments: string[],
  query: URLSearchParams,
): ClientCall | undefined => {
  const [bucket, second] = segments
  const buckets = `cubby.db(${literal(db, typescript)}).buckets`
  if (bucket === undefined) return { setup: '', text: call(buckets, 'list', optionsOf(query)), result: 'page' }
  if (second === undefined) return manageCall(request, 'bucket', buckets, bucket)
  if (request.method === 'POST' && second === 'restore') {
    return manageCall(request, 'bucket', buckets, bucket, 'restore')
  }
  return filesCall(request, db, segments, query)
}

/** The lease belongs to the run, as in what a claim returns. */
const leaseArguments = (id: string, body: unknown): unknown[] => {
  const { lease, ...rest } = body as Record<string, unknown>
  return Object.keys(rest).length === 0 ? [{ id, lease }] : [{ id, lease }, rest]
}

const runsCall = (
  { method, headers, body }: CurlRequest,
  db: string,
  [task, first, id, verb]: string[],
  query: URLSearchParams,
): ClientCall | undefined => {
  const object = identifier(task!, 'task')
  const setup = `const ${object} = cubby.db(${literal(db, typescript)}).task(${literal(task, typescript)})\n`
  const made = (name: string, given: unknown[], result: string) => ({ setup, text: call(object, name, given), result })
  if (Object.keys(headers).length > 0) return undefined
  if (method === 'GET' && first === 'runs') return made('get', [id, ...optionsOf(query)], 'run')
  if (method !== 'POST') return undefined
  if (verb === 'cancel' || verb === 'retry') return made(verb, [id], 'run')
  if (verb === 'extend' || verb === 'finish') {
    return made(verb, leaseArguments(id!, body), verb === 'extend' ? 'extended' : 'run')
  }
  const { payload, select, operations, ...rest } = (body ?? {}) as Record<string, unknown>
  const given = Object.keys(rest).length === 0 ? [] : [rest]
  if (first === 'run') return made('run', given.length > 0 || payload ? [payload ?? {}, ...given] : [], 'run')
  if (first === 'query')
    return made(select === 'count' ? 'count' : 'query', given, select === 'count' ? 'count' : 'page')
  if (first === 'claim') return made('claim', given, 'runs')
  return first === 'batch' ? made('batch', [operations], 'done') : undefined
}

const tasksCall = (
  request: CurlRequest,
  db: string,
  segments: string[],
  query: URLSearchParams,
): ClientCall | undefined => {
  const [task, second] = segments
  const tasks = `cubby.db(${literal(db, typescript)}).tasks`
  if (task === undefined) return { setup: '', text: call(tasks, 'list', optionsOf(query)), result: 'page' }
  const { method, headers } = request
  if (second === undefined && method === 'PUT') {
    const options = writeOptions(headers)
    const given = options && [...(options.length > 0 ? [request.body ?? {}] : bodyOf(request)), ...options]
    return given && { setup: '', text: call(tasks, 'declare', [task, ...given]), result: 'task' }
  }
  if (second === undefined) {
    return Object.keys(headers).length === 0 ? manageCall(request, 'task', tasks, task) : undefined
  }
  if (method === 'POST' && second === 'restore') return manageCall(request, 'task', tasks, task, 'restore')
  if (method === 'POST' && second === 'secret') {
    return { setup: '', text: call(tasks, 'createSecret', [task, ...bodyOf(request)]), result: 'created' }
  }
  return runsCall(request, db, segments, query)
}

const keysCall = (request: CurlRequest, query: URLSearchParams, id?: string): ClientCall | undefined => {
  const made = (method: string, given: unknown[], result: string) => ({
    setup: '',
    text: call('cubby.keys', method, given),
    result,
  })
  const { method } = request
  if (method === 'GET' && id === 'self') return made('self', [], 'key')
  if (method === 'GET' && id === undefined) return made('list', optionsOf(query), 'page')
  if (method === 'POST' && id === undefined) return made('create', bodyOf(request), 'created')
  return method === 'DELETE' && id !== 'self' ? made('revoke', [id], 'revoked') : undefined
}

/** The call of our client that sends this request, if it has one. */
export const clientCall = (request: CurlRequest): ClientCall | undefined => {
  const { pathname, searchParams: query } = new URL(request.target, 'http://localhost')
  const [first, ...segments] = pathname.slice(1).split('/').map(decodeURIComponent)
  if (first === 'api' && segments[0] === 'keys') return keysCall(request, query, segments[1])
  if (first !== 'v1') return undefined
  const [db, table, third] = segments
  if (db === undefined) return { setup: '', text: call('cubby', 'databases', optionsOf(query)), result: 'page' }
  const tables = `cubby.db(${literal(db, typescript)}).tables`
  if (table === undefined) return { setup: '', text: call(tables, 'list', optionsOf(query)), result: 'page' }
  if (table === '_tasks') return tasksCall(request, db, segments.slice(2), query)
  if (table === '_buckets') return bucketsCall(request, db, segments.slice(2), query)
  if (third === undefined && request.method !== 'PUT') return manageCall(request, 'table', tables, table)
  if (request.method === 'POST' && third === 'restore') {
    return manageCall(request, 'table', tables, table, 'restore')
  }
  return recordsCall(request, db, segments.slice(1))
}
