import { expect, test } from 'bun:test'
import { CubbyError } from '../../src/core/errors.ts'
import { authorize, type Names } from '../../src/operations/authorize.ts'
import { type CatalogueEntry, catalogue, inputMembers } from '../../src/operations/catalogue.ts'
import type { ApiKey } from '../../src/store/api-keys.ts'

// `run` does what it is told. Which API key may call it is one rule for all adapters, not a part of HTTP.

const keyOf = (kind: ApiKey['kind'], databases: string[] | null): ApiKey => ({
  seq: 1,
  id: 'key_x',
  orgId: 1,
  kind,
  name: null,
  lastFour: 'wxyz',
  databases,
  createdAtMs: 0,
  lastUsedAtMs: null,
  expiresAtMs: null,
  revokedAtMs: null,
  link: null,
  rolledFrom: null,
  rolledTo: null,
  epoch: 0,
})

const outcome = (apiKey: ApiKey, { keyNeeded }: Pick<CatalogueEntry, 'keyNeeded'>, names: Names): string => {
  try {
    authorize(apiKey, { keyNeeded }, names)
    return 'allowed'
  } catch (error) {
    return error instanceof CubbyError ? error.code : 'a fault of the adapter'
  }
}

const readOnly = [
  'describeBucket',
  'getFile',
  'queryFiles',
  'describeOwnApiKey',
  'describeOwnToken',
  'exchangeToken',
  'describeTable',
  'findRecords',
  'getItem',
  'getFileUrl',
  'getRecord',
  'getRun',
  'listBuckets',
  'listDatabases',
  'listTables',
  'queryRecords',
  'queryRuns',
  'readChanges',
]
const ofKeys = [
  ...['createApiKey', 'listApiKeys', 'revokeApiKey', 'rollApiKey'],
  ...['revokeUser', 'putIssuer', 'getIssuer', 'listIssuers', 'deleteIssuer'],
]

for (const entry of Object.values<CatalogueEntry>(catalogue())) {
  const { id } = entry
  const expected = (apiKey: ApiKey, db: unknown): string => {
    if (id.includes('Organization')) return 'a fault of the adapter'
    if (apiKey.kind === 'public' && !readOnly.includes(id)) return 'read_only_key'
    if (apiKey.databases === null) return 'allowed'
    if (ofKeys.includes(id)) return 'key_scope'
    return db === undefined || db === 'app' ? 'allowed' : 'key_scope'
  }

  test(`${id}: which API keys may call it`, () => {
    const members = inputMembers(entry)
    const named = members.includes('db') || members.includes('collection')
    const dbs = named ? ['app', 'other', 'App', '', null, 5, ['app']] : [undefined]
    for (const kind of ['secret', 'public'] as const) {
      for (const databases of [null, ['app'], ['zz', 'app']]) {
        const apiKey = keyOf(kind, databases)
        for (const db of dbs) {
          expect([kind, databases, db, outcome(apiKey, entry, { db })]).toEqual([
            kind,
            databases,
            db,
            expected(apiKey, db),
          ])
        }
      }
    }
  })
}

test('the database that an input names is its db, or a part of its collection', () => {
  const inputs: [Names, string][] = [
    [{}, 'allowed'],
    [{ db: 'app' }, 'allowed'],
    [{ db: null }, 'key_scope'],
    [{ collection: 'app.orders' }, 'allowed'],
    [{ collection: 'orders' }, 'key_scope'],
    [{ collection: 'app.orders.x' }, 'allowed'],
    [{ collection: '.orders' }, 'key_scope'],
    [{ collection: 'app.' }, 'allowed'],
    [{ collection: '' }, 'key_scope'],
    [{ collection: null }, 'key_scope'],
    [{ collection: 5 }, 'key_scope'],
  ]
  const apiKey = keyOf('secret', ['app'])
  for (const [names, expected] of inputs) {
    expect([names, outcome(apiKey, { keyNeeded: 'read' }, names)]).toEqual([names, expected])
  }
  const ofDefault = keyOf('secret', ['default'])
  for (const collection of ['orders', ''])
    expect(outcome(ofDefault, { keyNeeded: 'read' }, { collection })).toBe('allowed')
})
