import type { Api, ApiResponse, Json } from '../harness.ts'
import { freshName, ok } from './service.ts'

// Tables, buckets and tasks have one set of rules for names, listings, deletion and restoration. A test of such a rule is
// written once and runs for each kind.

export interface Kind {
  /** The word in fields and error codes. */
  word: 'table' | 'bucket' | 'task'
  /** The word in listings. */
  plural: 'tables' | 'buckets' | 'tasks'
  listPath(db: string): string
  /** The request that creates one, with a body that declares as much as possible. */
  method: 'POST' | 'PUT'
  body: Json
  isReadByPublicKeys: boolean
  /** The words of hints for a new one. */
  create: string
  createAnew: string
  /** Requests below its path that need an active one, for something in it with the name `one`. */
  below: [method: string, rest: string, body?: Json][]
  add(api: Api, path: string, name: string): Promise<unknown>
  /** Names of what is in it. */
  contents(api: Api, path: string): Promise<string[]>
}

const namesOf = (answer: ApiResponse, member: string): string[] => ok(answer).items.map((item: Json) => item[member])

export const kinds: Kind[] = [
  {
    word: 'table',
    plural: 'tables',
    listPath: (db) => `/v1/${db}`,
    method: 'POST',
    body: { indices: { i1: { hashField: 'a' } } },
    isReadByPublicKeys: true,
    create: 'Create it with the indices that it needs, which cannot be changed later',
    createAnew: 'create a new, empty table',
    below: [
      ['PUT', '', { hashKey: 'one', data: { a: null } }],
      ['GET', '/one'],
      ['GET', '/one/x'],
      ['DELETE', '/one'],
      ['DELETE', '/one/x'],
      ['POST', '/query', { hash: 'one' }],
      ['POST', '/query', { index: 't' }],
      ['POST', '/query', { index: 'i1', hash: 1 }],
      ['POST', '/find', { keys: [{ hashKey: 'one' }] }],
      ['POST', '/batch', { operations: [{ op: 'delete', hashKey: 'one' }] }],
    ],
    add: async (api, path, name) => ok(await api.put(path, { hashKey: name, data: { a: 1 } })),
    contents: async (api, path) => namesOf(await api.post(`${path}/query`, { index: 't' }), 'hashKey'),
  },
  {
    word: 'bucket',
    plural: 'buckets',
    listPath: (db) => `/v1/${db}/_buckets`,
    method: 'POST',
    body: {},
    isReadByPublicKeys: true,
    create: 'Create it',
    createAnew: 'create a new, empty bucket',
    below: [
      ['PUT', '/one', 'bytes'],
      ['GET', '/one'],
      ['PATCH', '/one', { visibility: 'public' }],
      ['DELETE', '/one'],
      ['POST', '/query', {}],
      ['POST', '/url', { name: 'one' }],
    ],
    add: async (api, path, name) => ok(await api.put(`${path}/${name}`, 'bytes')),
    contents: async (api, path) => namesOf(await api.post(`${path}/query`, {}), 'name'),
  },
  {
    word: 'task',
    plural: 'tasks',
    listPath: (db) => `/v1/${db}/_tasks`,
    method: 'PUT',
    // The name never resolves, so it is accepted without a look at its addresses.
    body: { url: 'https://hooks.invalid/mail', authorization: 'Bearer x', attempts: 3, paused: true },
    isReadByPublicKeys: false,
    create: 'Declare it',
    createAnew: 'declare a new task without runs',
    below: [
      ['POST', '/run', {}],
      ['POST', '/query', {}],
      ['POST', '/claim'],
      ['POST', '/batch', { operations: [{ op: 'run' }] }],
      ['POST', '/secret'],
      ['GET', '/runs/one'],
      ['POST', '/runs/one/cancel'],
      ['POST', '/runs/one/retry'],
    ],
    // A run that becomes due within a test would change `oldestRunAt` of the task.
    add: async (api, path, name) => ok(await api.post(`${path}/run`, { id: name, delaySeconds: 31_536_000 }), 201),
    contents: async (api, path) => namesOf(await api.post(`${path}/query`), 'id'),
  },
]

/** A table, bucket or task of the test's own. */
export class Resource {
  /** The resource as requests show it. */
  created: Json
  readonly kind: Kind
  readonly api: Api
  readonly path: string

  constructor(kind: Kind, api: Api, name = freshName(kind.word), db = 'app') {
    this.kind = kind
    this.api = api
    this.path = `${kind.listPath(db)}/${name}`
  }

  /** Only the answer to its creation has the secret of a task. */
  async create(): Promise<Json> {
    const { secret: _, ...created } = ok(await this.api.request(this.kind.method, this.path, this.kind.body), 201)
    return created
  }

  async delete(): Promise<Json> {
    return ok(await this.api.delete(this.path))
  }

  tryRestore(body?: Json): Promise<ApiResponse> {
    return this.api.post(`${this.path}/restore`, body)
  }

  async restore(body?: Json): Promise<Json> {
    return ok(await this.tryRestore(body))
  }

  async read(): Promise<Json> {
    return ok(await this.api.get(this.path))
  }

  /** Puts a record, a file or a run with this name into it. */
  add(name: string): Promise<unknown> {
    return this.kind.add(this.api, this.path, name)
  }

  contents(): Promise<string[]> {
    return this.kind.contents(this.api, this.path)
  }
}

export const makeResource = async (kind: Kind, api: Api, name?: string, db?: string): Promise<Resource> => {
  const resource = new Resource(kind, api, name, db)
  resource.created = await resource.create()
  return resource
}
