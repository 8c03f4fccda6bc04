import { afterAll, beforeAll } from 'bun:test'
import { storeIsEmbedded } from '../harness.ts'
import { type SharedPostgres, sharedPostgres } from '../postgres-server.ts'
import { postgresStores } from './kept-stores.ts'
import { storeCases } from './store-cases.ts'

let postgres: SharedPostgres
beforeAll(async () => {
  if (storeIsEmbedded()) postgres = await sharedPostgres()
})
afterAll(async () => {
  await postgres?.remove()
})

storeCases(postgresStores(() => postgres))
