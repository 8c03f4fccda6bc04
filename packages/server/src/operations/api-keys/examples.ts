import type { ExampleCall } from '../example.ts'

const createdAt = 1767398400000
export const id = 'key_4fJ2mQ9sT7bXc1LwZr8a'
// No real key: its checksum is wrong.
const key = 'svc_pub_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000wxyz'
const masked = 'svc_pub_****wxyz'

export const web = { kind: 'public', name: 'web shop', databases: ['app'], expiresAt: 4102444800000 }
export const createdWeb = {
  id,
  kind: 'public',
  name: 'web shop',
  key,
  masked,
  databases: ['app'],
  createdAt,
  expiresAt: 4102444800000,
}
export const listedWeb = {
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
  rolledFrom: null,
  rolledTo: null,
}

const backendId = 'key_9dK1nR5tU3cYe7MxQs2b'
export const backend = { kind: 'secret', name: 'backend' }
export const createdBackend = {
  id: backendId,
  ...backend,
  key: 'svc_live_EXAMPLEEXAMPLEEXAMPLEEXAMPLE000000stuv',
  masked: 'svc_live_****stuv',
  databases: null,
  createdAt,
  expiresAt: null,
}
export const rolledBackend = {
  ...createdBackend,
  id: 'key_7hV4nB2wQ8dZs5KpYt3c',
  key: 'svc_live_EXAMPLEEXAMPLEEXAMPLEEXAMPLE111111efgh',
  masked: 'svc_live_****efgh',
  createdAt: 1767484800000,
  rolledFrom: backendId,
}

export const createBackend: ExampleCall = { operation: 'createApiKey', input: backend, output: createdBackend }
export const rollBackend: ExampleCall = { operation: 'rollApiKey', input: { id: backendId }, output: rolledBackend }
export const createWeb: ExampleCall = { operation: 'createApiKey', input: web, output: createdWeb }
