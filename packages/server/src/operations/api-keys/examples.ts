import type { ExampleCall } from '../example.ts'

export const createdAt = 1767398400000
export const id = 'key_4fJ2mQ9sT7bXc1LwZr8a'
export const rolledId = 'key_7hV4nB2wQ8dZs5KpYt3c'
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

export const createWeb: ExampleCall = { operation: 'createApiKey', input: web, output: createdWeb }
