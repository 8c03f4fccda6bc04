import { CubbyError, type ErrorCode } from '../core/errors.ts'
import { divideCollection } from '../core/items/collection.ts'
import { isName } from '../core/names.ts'
import { queryFields } from '../core/records/query.ts'
import type { RoutedOperationId } from '../operations/catalogue.ts'
import { filePath } from './file-paths.ts'
import { httpHint, type Names } from './hint-text.ts'

// Requests that newcomers and agents send because another service would take them. Each keeps its status and its code; the
// hint names the request that is meant. A hint depends on nothing but the request, so it tells nothing about the store.

/** The request's own names. One that no table can have is left out, and stays `:db` or `:table` in the hint. */
export const namesIn = (params: Readonly<Record<string, string | undefined>>): Names => {
  const { collection, bucket, task } = params
  const { db, table } = collection === undefined ? params : divideCollection(collection)
  const isWhole = isName(db) && isName(table)
  return {
    ...(isName(db) && { db }),
    ...(isName(table) && { table }),
    ...(isName(bucket) && { bucket }),
    ...(isName(task) && { task }),
    ...(isWhole && collection !== undefined && { collection }),
  }
}

/** `PUT /v1/app/orders`, from the route table. */
const to = (operation: RoutedOperationId, names: Names): string => httpHint([{ operation, input: {} }], names)!

type Say = (names: Names) => string

const written: Say = (names) => `records are written by ${to('putRecord', names)} with hashKey in the body`
const writtenByPut: Say = (names) => `this request creates a table; ${written(names)}`
const writtenElsewhere: Say = (names) => `a record is read and deleted here; ${written(names)}`
const flatWritten: Say = (names) =>
  `this request creates a table; a record is written by ${to('putRecord', names)} with { "hashKey": …, "data": { … } }`
const found: Say = (names) => `records are found by ${to('queryRecords', names)}`
/** A parameter with the name of a field: `?status=open`. */
const foundByField: Say = (names) =>
  `there are no filters in a URL; ${found(names)}, those with one value of a field by a declared index: { "index": "i1", "hash": … }`
const counted: Say = (names) => `records are counted by ${to('queryRecords', names)} with "select": "count"`
const recordsDeleted: Say = (names) => `records are deleted by ${to('deleteRecord', names)}`
const batched: Say = (names) => `many records are written by ${to('applyBatch', names)} with operations in the body`
const restored: Say = (names) => `a deleted table is restored by ${to('restoreTable', names)}`
const tableCreated: Say = (names) =>
  `a database exists as soon as it has a table; tables are created by ${to('createTable', names)}`
const tablesDeleted: Say = (names) =>
  `tables are deleted by ${to('deleteTable', names)}; a database is gone with its last table`
/** `PUT /v1/app/_buckets/avatars/<name>`. */
const fileTo = (method: string, names: Names): string => `${to('describeBucket', names).replace('GET', method)}/<name>`
const bucketsListed: Say = (names) => `buckets are listed by ${to('listBuckets', names)}`
const bucketsCreated: Say = (names) => `buckets are created by ${to('createBucket', names)}`
const filesWritten: Say = (names) => `files are written by ${fileTo('PUT', names)}`
const filesListed: Say = (names) => `files are listed by ${fileTo('POST', names).replace('<name>', 'query')}`
/** Says how, since `curl -F` and forms send another body than the bytes. */
const filesSent: Say = (names) => `${filesWritten(names)} with the bytes as the body (curl -T FILE, not -F)`
const urlsMade: Say = (names) =>
  `URLs of files are made by ${fileTo('POST', names).replace('<name>', 'url')} with name in the body`
const filesDeleted: Say = (names) => `files are deleted by ${fileTo('DELETE', names)}`
const filesWrittenByPut: Say = (names) => `this request creates a bucket; ${filesWritten(names)}`
/** `POST /v1/app/_tasks/mail/run`. */
const belowTask = (method: string, names: Names, rest: string): string =>
  `${to('describeTask', names).replace('GET', method)}${rest}`
const tasksListed: Say = (names) => `tasks are listed by ${to('listTasks', names)}`
const tasksDeclared: Say = (names) => `tasks are declared by ${to('declareTask', names)}`
const runsAdded: Say = (names) => `a run is added by ${belowTask('POST', names, '/run')}`
const taskOrRun: Say = (names) => `${tasksDeclared(names)}; ${runsAdded(names)}`
const runsListed: Say = (names) => `runs are listed by ${belowTask('POST', names, '/query')}`
const runsCancelled: Say = (names) =>
  `a run is cancelled, not deleted: ${belowTask('POST', names, '/runs/:run/cancel')}`
const taskPaused: Say = (names) =>
  `a task is paused and resumed by its declaration, always sent as a whole: ${to('declareTask', names)} with paused and all else that it has`
const runParts: Say = (names) =>
  `below ${belowTask('', names, '').trim()}/runs/:run are cancel, retry, extend and finish`
const taskParts: Say = (names) =>
  `below ${belowTask('', names, '').trim()} are run, query, claim, batch, secret, restore and runs/:run; ${runParts(names)}`
const patched: Say = (names) => `a part of a record is changed by ${to('patchRecord', names)} with hashKey in the body`
const itemWritten: Say = (names) => `an item is written by ${to('putItem', names)} with the document as the body`
const itemIsAt: Say = (names) => `an item is at ${to('getItem', names).slice(4)}`

// ── 405: the path has other methods ────────────────────────────────────────────────────────────────────────

const record = '/v1/:db/:table/:hashKey'
const fileUrlPath = '/files/:bucketId/:name'
const item = '/api/collections/:collection/items/:id'
const searches = ['search', 'list', 'scan', 'filter', 'select', 'all', 'records', 'items']
const batches = ['bulk', 'import', 'transaction', 'many']

/**
 * The first row that fits says the hint. `words`: only if the last segment of the path is one of them.
 */
const wrongMethods: readonly { methods: string; path: string; words?: readonly string[]; say: Say }[] = [
  { methods: 'POST', path: record, words: searches, say: found },
  { methods: 'POST', path: record, words: ['count'], say: counted },
  { methods: 'POST', path: record, words: batches, say: batched },
  { methods: 'POST', path: record, words: ['undelete', 'recover'], say: restored },
  { methods: 'POST', path: record, words: ['delete', 'remove'], say: recordsDeleted },
  { methods: 'PUT POST', path: record, say: writtenElsewhere },
  {
    methods: 'PUT POST',
    path: `${record}/:rangeKey`,
    say: (names) => `${writtenElsewhere(names)}, and rangeKey beside it`,
  },
  { methods: 'PATCH', path: record, say: patched },
  { methods: 'PATCH', path: `${record}/:rangeKey`, say: patched },
  { methods: 'PUT PATCH', path: '/v1/:db/:table/batch', say: batched },
  // These words are keys of records too.
  { methods: 'PATCH', path: '/v1/:db/:table/query', say: patched },
  { methods: 'PATCH', path: '/v1/:db/:table/find', say: patched },
  { methods: 'PATCH', path: '/v1/:db/:table/restore', say: patched },
  { methods: 'PATCH', path: '/v1/:db/:table/load', say: patched },
  { methods: 'PATCH', path: '/v1/:db/:table/changes', say: patched },
  { methods: 'POST PUT', path: '/v1/:db', say: tableCreated },
  { methods: 'DELETE', path: '/v1/:db', say: tablesDeleted },
  { methods: 'POST', path: item, say: itemWritten },
  { methods: 'POST PUT', path: '/v1/:db/_buckets', say: bucketsCreated },
  {
    methods: 'PUT',
    path: '/v1/:db/_buckets/:bucket',
    say: (names) => `${bucketsCreated(names)}; ${filesWritten(names)}`,
  },
  { methods: 'POST', path: filePath, words: [...searches, 'files', 'find', 'ls'], say: filesListed },
  { methods: 'POST', path: filePath, words: ['url', 'urls', 'sign', 'signed-url', 'getUrl'], say: urlsMade },
  { methods: 'POST', path: filePath, words: ['delete', 'remove', 'rm'], say: filesDeleted },
  { methods: 'POST', path: filePath, say: filesSent },
  {
    methods: 'POST PATCH',
    path: fileUrlPath,
    say: () => 'a signed URL for an upload takes PUT with the bytes as the body (curl -T FILE, not -F)',
  },
  { methods: 'POST PUT', path: '/v1/:db/_tasks', say: tasksDeclared },
  { methods: 'POST', path: '/v1/:db/_tasks/:task', say: taskOrRun },
  {
    methods: 'PATCH',
    path: '/v1/:db/_tasks/:task',
    say: (names) => `a declaration is always sent as a whole; ${tasksDeclared(names)}`,
  },
  { methods: 'DELETE', path: '/v1/:db/_tasks/:task/runs/:run', say: runsCancelled },
  {
    methods: 'POST PUT PATCH',
    path: '/v1/:db/_tasks/:task/runs/:run',
    say: (names) => `${runsAdded(names)}; ${runParts(names)}`,
  },
  {
    methods: 'GET',
    path: '/api/keys/:id',
    say: () => `keys are listed by ${to('listApiKeys', {})}; the calling key is ${to('describeOwnApiKey', {})}`,
  },
  {
    methods: 'POST PUT PATCH',
    path: '/api/keys/:id',
    say: () =>
      `a key cannot be changed; keys are created by ${to('createApiKey', {})}, and replaced by ${to('rollApiKey', {})}`,
  },
]

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

type Params = Readonly<Record<string, string | undefined>>

/** Names of files have several segments; their hints are those of one. */
const withShortName = (path: string): string => path.replace(/\/(?::name1\/.*|\*)$/, '/:name')

/** The hint for a method that the path does not have; `allow` are those that it has. */
export const wrongMethodHint = (method: string, path: string, params: Params, allow: string): string => {
  const short = withShortName(path)
  const last = params[/:(\w+)$/.exec(path)?.[1] ?? ''] ?? ''
  const row = wrongMethods.find(
    ({ methods, path: of, words }) =>
      of === short && methods.split(' ').includes(method) && (words === undefined || words.includes(last)),
  )
  const own =
    row === undefined ? `It takes ${allow}.` : `${sentence(row.say(namesIn(params)))} This path takes ${allow}.`
  // `/v1/app/tasks/mail` may be a record of a table, so this comes after.
  if (params.table !== 'tasks') return own
  return `${own} ${sentence(taskOrRun(namesIn({ db: params.db, task: params.hashKey })))}`
}

// ── 400 and 404 of a route: the input belongs to another request ───────────────────────────────────────────

/** Names of other services for the fields of a query. */
const listingFields = ['offset', 'page', 'filter', 'where', 'q', 'query', 'sort', 'order', 'prefix']
const recordFields = ['hashKey', 'rangeKey', 'data', 'ttl']
const fileFields = ['name', 'visibility', 'contentType', 'metadata', 'ttl', 'data', 'file']

interface WrongInput {
  readonly operation: RoutedOperationId
  readonly code: ErrorCode
  /** Applies if the error names one of these fields; undefined: it names none. */
  readonly fields?: readonly (string | undefined)[]
  /** Applies if the hash key is one of these words. */
  readonly words?: readonly string[]
  /** Applies if the request has a field or a parameter that the route does not know. */
  readonly unknown?: true
  /** Applies if that field is missing. */
  readonly missing?: true
  /** The route's own hint stays before this one. */
  readonly beside?: true
  readonly say: Say
}

const wrongInput = (operation: RoutedOperationId, fields: WrongInput['fields'], say: Say): WrongInput => ({
  operation,
  code: 'invalid_request',
  fields,
  say,
})

const unknownInput = (operation: RoutedOperationId, say: Say): WrongInput => ({
  operation,
  code: 'invalid_request',
  unknown: true,
  beside: true,
  say,
})

const wrongInputs: readonly WrongInput[] = [
  wrongInput('createTable', recordFields, writtenByPut),
  // A body so large can only be a record. Its fields are not read.
  { operation: 'createTable', code: 'body_too_large', say: writtenByPut },
  wrongInput('describeTable', [...queryFields, ...listingFields], found),
  wrongInput(
    'describeTable',
    ['hashKey', 'rangeKey', 'key', 'id'],
    (names) => `a record is read by ${to('getRecord', names)}`,
  ),
  // This request without the body or the parameter would delete the table.
  wrongInput(
    'deleteTable',
    [undefined, ...recordFields],
    (names) => `this path is the table; ${recordsDeleted(names)}`,
  ),
  wrongInput('getRecord', ['rangeKey'], () => 'the range key is a segment of the path, after the hash key'),
  wrongInput('createBucket', fileFields, filesWrittenByPut),
  // A body so large or of another type can only be a file.
  { operation: 'createBucket', code: 'body_too_large', say: filesWrittenByPut },
  { operation: 'createBucket', code: 'unsupported_media_type', say: filesWrittenByPut },
  // This request without the body or the parameter would delete the bucket.
  wrongInput('deleteBucket', [undefined, ...fileFields], (names) => `this path is the bucket; ${filesDeleted(names)}`),
  wrongInput('declareTask', ['every', 'cron', 'timezone'], () => 'it belongs into "schedule"'),
  wrongInput('describeTask', ['status', ...queryFields, ...listingFields], runsListed),
  // This request without the body or the parameter would delete the task.
  wrongInput(
    'deleteTask',
    [undefined, 'id', 'run'],
    (names) => `this path is the task; a run is cancelled by ${belowTask('POST', names, '/runs/:run/cancel')}`,
  ),
  // A flat record, or a filter by a field. A name that is nearly a known one has a hint of its own.
  unknownInput('createTable', flatWritten),
  unknownInput('describeTable', foundByField),
  unknownInput('getRecord', foundByField),
  unknownInput('getItem', foundByField),
  unknownInput('describeBucket', filesListed),
  { operation: 'queryRecords', code: 'invalid_key', fields: ['hash'], missing: true, beside: true, say: found },
  { operation: 'getRecord', code: 'record_not_found', words: ['query', ...searches], beside: true, say: found },
  { operation: 'getRecord', code: 'record_not_found', words: ['count'], beside: true, say: counted },
]

const listed: Readonly<Record<string, Say>> = {
  tables: (names) => `tables are listed by ${to('listTables', names)}`,
  buckets: bucketsListed,
  tasks: tasksListed,
}

/** Another listing was meant: `/v1/_buckets` without a database, or `/v1/app/buckets`, which is a table. */
const listingMeant = ({ db, table }: Params, { code }: CubbyError): Say | undefined => {
  if (code === 'reserved_name') return db === '_buckets' || db === '_tasks' ? listed[db.slice(1)] : undefined
  return code === 'table_not_found' && table !== undefined && Object.hasOwn(listed, table) ? listed[table] : undefined
}

/** The same error with a better hint, if its input shows which other request was meant. */
export const withBetterHint = (operation: string, params: Params, error: CubbyError): CubbyError => {
  const meant = listingMeant(params, error)
  if (meant !== undefined) return hinted(error, params, meant, error.code === 'table_not_found')
  const row = wrongInputs.find(
    (one) =>
      one.operation === operation &&
      one.code === error.code &&
      (one.fields?.includes(error.field) ?? true) &&
      (one.unknown !== true || /is not a (field|query parameter) of this request\.$/.test(error.message)) &&
      (one.missing !== true || error.message.startsWith(`${error.field} is missing`)) &&
      (one.words?.includes(params.hashKey!) ?? true),
  )
  return row === undefined ? error : hinted(error, params, row.say, row.beside === true)
}

/** What is found, or the declaration of a table, is named by the hints of these. */
const namesThings: ReadonlySet<ErrorCode> = new Set([
  ...(['table_not_found', 'bucket_not_found', 'task_not_found', 'record_not_found', 'file_not_found'] as const),
  ...(['run_not_found', 'index_not_declared', 'changes_not_kept'] as const),
])

/** No hint for a user names a thing that the grants of the token do not, or a request that is refused to all users. */
export const withoutNames = (error: CubbyError): CubbyError =>
  namesThings.has(error.code) ? new CubbyError(error.code, error.message, { field: error.field }) : error

/** `beside`: the error's own hint stays before the better one. */
const hinted = (error: CubbyError, params: Params, say: Say, beside: boolean): CubbyError => {
  const names = namesIn(params)
  const own = beside && error.hint !== undefined ? `${httpHint(error.hint, names)!.replace(/(?<![.?!])$/, '.')} ` : ''
  return new CubbyError(error.code, error.message, { field: error.field, hint: own + sentence(say(names)) })
}

// ── 404: no route has the path ─────────────────────────────────────────────────────────────────────────────

/** Segments that can be repeated as they are. */
const plain = '(?:/(?!\\.\\.?(?:/|$))[A-Za-z0-9_.~-]+)'

const namesAt = (path: string): Names => {
  const [, , db, table, below] = path.split('/')
  if (table === '_tasks') return namesIn({ db, task: below })
  return namesIn(table === '_buckets' ? { db, bucket: below } : { db, table })
}

/** The names of a path such as `/api/collections/app.orders/…`. */
const collectionAt = (path: string): Names => namesIn({ collection: path.split('/')[3] ?? '' })

const descriptions = 'GET /openapi.json is for programs, GET /docs for people'

/** The first row that fits says the hint. `part` is what the path has in its first parentheses. */
const lostPaths: readonly { methods?: string; path: RegExp; say: (part: string) => string }[] = [
  {
    path: /^\/api\/collections\/*$/,
    say: () => `a collection is a table; tables are listed by ${to('listTables', {})}; ${itemIsAt({})}`,
  },
  {
    methods: 'GET HEAD',
    path: /^(\/api\/collections\/[^/]+)\/*$/,
    say: (part) => `a collection is a table: ${to('describeTable', collectionAt(part))}`,
  },
  {
    methods: 'POST PUT',
    path: /^(\/api\/collections\/[^/]+)\/*$/,
    say: (part) => `a collection is a table, created by ${to('createTable', collectionAt(part))}`,
  },
  {
    methods: 'GET HEAD',
    path: /^(\/api\/collections\/[^/]+)\/items\/*$/,
    say: (part) => `the id is missing; ${found(collectionAt(part))}`,
  },
  {
    methods: 'POST PUT PATCH',
    path: /^(\/api\/collections\/[^/]+)\/items\/*$/,
    say: (part) => `the id is missing; ${itemWritten(collectionAt(part))}`,
  },
  {
    path: /^(\/api\/collections\/[^/]+)\/items\/[^/]+\/+[^/]/,
    say: (part) =>
      `an item has one id; its range key is a parameter: ${to('getItem', collectionAt(part))}?rangeKey=…; a / inside an id is written as %2F`,
  },
  { path: /^(\/api\/collections\/[^/]+)(?:\/(?!items\/[^/])|$)/, say: (part) => itemIsAt(collectionAt(part)) },
  // The last name is empty. The path without its slash must not be suggested: there, DELETE removes the bucket.
  {
    methods: 'DELETE',
    path: /^(\/v1\/[^/]*\/_buckets\/.*\/)$/,
    say: (part) => `the name of the file is empty or ends with a slash; ${filesDeleted(namesAt(part))}`,
  },
  // `…/_buckets/avatars/ada/`, `…/_buckets/avatars//a.txt`: also the name of a folder, which buckets do not have.
  {
    methods: 'GET HEAD',
    path: /^(\/v1\/[^/]+\/_buckets\/[^/]+)\/[^/].*\/$/,
    say: (part) => `a name does not end with "/"; ${filesListed(namesAt(part))}, with "prefix" for a part of them`,
  },
  {
    path: /^(\/v1\/[^/]+\/_buckets\/[^/]+)\/(?:\/|.*\/(?:$|\/))/,
    methods: 'GET HEAD POST PUT PATCH',
    say: (part) =>
      `a name does not begin or end with "/", and has no "//"; a file is at ${fileTo('GET', namesAt(part)).slice(4)}`,
  },
  // Nothing below a task is deleted. The task itself must not be suggested.
  {
    methods: 'DELETE',
    path: /^(\/v1\/[^/]*\/_tasks\/.*)$/,
    say: (part) => runsCancelled(namesAt(part)),
  },
  {
    methods: 'POST PUT',
    path: /^(\/v1\/[^/]+\/_tasks\/[^/]+)\/runs$/,
    say: (part) => `${runsAdded(namesAt(part))}; ${runsListed(namesAt(part))}`,
  },
  {
    methods: 'GET HEAD POST',
    path: /^(\/v1\/[^/]+\/_tasks\/[^/]+)\/(?:runs|list|search)$/,
    say: (part) => runsListed(namesAt(part)),
  },
  {
    methods: 'POST PUT',
    path: /^(\/v1\/[^/]+\/_tasks\/[^/]+)\/(?:enqueue|start|invoke|execute|trigger|send|jobs)$/,
    say: (part) => runsAdded(namesAt(part)),
  },
  { path: /^(\/v1\/[^/]+\/_tasks\/[^/]+)\/(?:pause|resume)$/, say: (part) => taskPaused(namesAt(part)) },
  { path: /^(\/v1\/[^/]+\/_tasks\/[^/]+)\/+[^/](?:.*[^/])?$/, say: (part) => taskParts(namesAt(part)) },
  // The last key is empty. The path without its slash must not be suggested: there, DELETE removes the table.
  {
    methods: 'DELETE',
    path: /^(\/v1\/.*\/)$/,
    say: (part) => `the last key is empty; ${recordsDeleted(namesAt(part))}`,
  },
  {
    methods: 'GET HEAD POST PUT PATCH',
    path: new RegExp(`^(${plain}+)/+$`),
    say: (part) => `without the slash at its end: ${part}`,
  },
  { path: new RegExp(`^/api(/v1${plain}*)$`), say: (part) => `tables and records are below /v1: ${part}` },
  { path: /^\/(?:api\/)?_?tasks(?:\/[A-Za-z0-9_.-]+)*$/, say: () => tasksListed({}) },
  { path: /^\/(?:api\/)?_?buckets(?:\/[A-Za-z0-9_.-]+)*$/, say: () => bucketsListed({}) },
  { path: /^\/(?:api\/)?version$/, say: () => 'the version is in GET /' },
  {
    path: /^\/api\/keys\/[^/]+\/(?:rotate|renew|replace|regenerate)$/,
    say: () => `a key is replaced by ${to('rollApiKey', {})}`,
  },
  { path: /^\/api\/keys\/[^/]+\/(?:revoke|delete)$/, say: () => `keys are revoked by ${to('revokeApiKey', {})}` },
  { path: /^(\/keys(?:\/[A-Za-z0-9_]+)?)$/, say: (part) => `keys are below /api: /api${part}` },
  { path: /^\/(?:api\/)?(?:docs|openapi|swagger|redoc|api-docs)(?:\.(?:json|ya?ml))?$/, say: () => descriptions },
  {
    path: /^\/(?:health|healthcheck|livez|ping|status|ready)$/,
    say: () => 'GET /healthz says whether the process is alive, GET /readyz whether it can serve',
  },
  {
    path: new RegExp(
      `^((?!/(?:v\\d+|api|keys|docs|healthz|readyz)/|.*/v\\d+/)(?:/[a-z0-9-][a-z0-9_-]{0,63}){2}${plain}{0,2})$`,
    ),
    say: (part) => `tables and records are below /v1: /v1${part}`,
  },
  {
    path: /^\/v1(?:\/[^/]+){5,}$/,
    say: () => 'a path has at most two keys: /v1/:db/:table/:hashKey/:rangeKey; a / inside a key is written as %2F',
  },
]

const generalHint =
  'Records: /v1/:db/:table/:hashKey[/:rangeKey]; tables: /v1/:db/:table; items: /api/collections/:collection/items/:id; files: /v1/:db/_buckets/:bucket/<name>; tasks: /v1/:db/_tasks/:task; keys: /api/keys. No trailing slash.'

/** A longer path is no slip of a newcomer, and to compare it with all rows takes half a millisecond. */
const lostPathCharactersMax = 2_048

export const lostPathHint = (method: string, path: string): string => {
  if (path.length > lostPathCharactersMax) return generalHint
  for (const { methods, path: form, say } of lostPaths) {
    if (methods !== undefined && !methods.split(' ').includes(method)) continue
    const match = form.exec(path)
    if (match !== null) return sentence(say(match[1] ?? ''))
  }
  return generalHint
}

// ── 401: the key is somewhere else ─────────────────────────────────────────────────────────────────────────

const keyHeaders = ['X-Api-Key', 'Api-Key', 'ApiKey', 'X-Auth-Token', 'X-Access-Token']
const keyParameter = /[?&](api[_-]?key|key|access_token|token)=/i

/** Returns the hint for a request without an Authorization header. */
export const missingKeyHint = ({ headers, url }: Request): string => {
  const send = 'Send the header "Authorization: Bearer <API key>"'
  const header = keyHeaders.find((name) => headers.has(name))
  if (header !== undefined) return `${send}; ${header} is not read.`
  const parameter = keyParameter.exec(url)?.[1]
  return parameter === undefined
    ? `${send}.`
    : `${send}; the parameter ${parameter} is not read, and a URL ends up in logs.`
}

/** Returns the hint for an Authorization header of another form than `Bearer <API key>`. */
export const wrongSchemeHint = (header: string): string | undefined => {
  if (/^bearer$/i.test(header)) return 'There is no key after "Bearer": is the variable that holds it empty?'
  if (/^svc_(?:live|pub)_\S+$/.test(header))
    return 'Write "Bearer " before the key: "Authorization: Bearer svc_live_…".'
  return undefined
}
