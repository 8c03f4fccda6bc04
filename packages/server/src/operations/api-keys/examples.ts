import { call } from '../../core/hint.ts'
import type { Example, ExampleCall } from '../example.ts'

const createdAt = 1767398400000
const id = 'key_4fJ2mQ9sT7bXc1LwZr8a'
// No real key: its checksum is wrong.
const key = 'svc_pub_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000wxyz'
const masked = 'svc_pub_****wxyz'

const web = { kind: 'public', name: 'web shop', databases: ['app'], expiresAt: 4102444800000 }
const createdWeb = {
  id,
  kind: 'public',
  name: 'web shop',
  key,
  masked,
  databases: ['app'],
  createdAt,
  expiresAt: 4102444800000,
}
const listedWeb = {
  id,
  kind: 'public',
  name: 'web shop',
  masked,
  databases: ['app'],
  status: 'active',
  createdAt,
  lastUsedAt: null,
  expiresAt: 4102444800000,
  revokedAt: null,
}

const createWeb: ExampleCall = { operation: 'createApiKey', input: web, output: createdWeb }

export const createApiKey: Example[] = [
  {
    name: 'secret',
    summary: 'A secret key for all databases',
    input: { kind: 'secret', name: 'backend' },
    output: {
      id: 'key_9dK1nR5tU3cYe7MxQs2b',
      kind: 'secret',
      name: 'backend',
      key: 'svc_live_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000stuv',
      masked: 'svc_live_****stuv',
      databases: null,
      createdAt,
      expiresAt: null,
    },
  },
  {
    name: 'limited',
    summary: 'A public key for one database, until 2100',
    input: web,
    output: createdWeb,
  },
  {
    name: 'noSuchKind',
    summary: 'An unknown kind',
    input: { kind: 'admin' },
    error: {
      code: 'invalid_request',
      message: 'kind is "admin"; it takes "secret" or "public".',
      field: 'kind',
      hint: 'A public key reads, a secret key reads and writes.',
    },
  },
  {
    name: 'badName',
    summary: 'An invalid database name',
    input: { kind: 'public', databases: ['App'] },
    error: {
      code: 'invalid_name',
      message: 'databases[0] is "App"; a name matches [a-z0-9_-]{1,64}.',
      field: 'databases[0]',
      hint: 'Use 1 to 64 lower-case letters, digits, "_" or "-", for example "app".',
    },
  },
  {
    name: 'reservedName',
    summary: 'A reserved database name',
    input: { kind: 'public', databases: ['_app'] },
    error: {
      code: 'reserved_name',
      message: 'databases[0] is "_app"; names that start with "_" are reserved.',
      field: 'databases[0]',
      hint: 'Drop the leading "_": "app".',
    },
  },
]

export const listApiKeys: Example[] = [
  {
    name: 'newest',
    summary: 'The newest key',
    given: [createWeb],
    input: { limit: 1 },
    output: { keys: [listedWeb], cursor: 'AvIZPzwhifvURWu_-hqaGnMF2yENEwNSnxEh1SLlm6WyPPgqo83KTT046MtH' },
  },
]

export const describeOwnApiKey: Example[] = [
  {
    name: 'own',
    summary: 'The key of this request',
    input: {},
    output: {
      id: 'key_2cH8kP4rS6aWd0JvXn5y',
      kind: 'secret',
      name: null,
      masked: 'svc_live_****mnop',
      databases: null,
      status: 'active',
      createdAt: 1767139200000,
      lastUsedAt: 1767398340000,
      expiresAt: null,
      revokedAt: null,
      organization: 'default',
    },
  },
]

export const revokeApiKey: Example[] = [
  {
    name: 'revoke',
    summary: 'Revoke a key',
    given: [createWeb],
    input: { id },
    output: { ...listedWeb, status: 'revoked', revokedAt: 1767484800000 },
  },
  {
    name: 'unknown',
    summary: 'No such key',
    input: { id: 'key_00000000000000000000' },
    error: {
      code: 'key_not_found',
      message: 'The organization has no API key with that id.',
      hint: ['Ids are listed by ', call('listApiKeys'), '; they start with "key_".'],
    },
  },
]
