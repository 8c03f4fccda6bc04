import { afterAll, beforeAll, setDefaultTimeout, test } from 'bun:test'
import { type Server, startServer } from './harness.ts'
import { makeTokens } from './token-states.ts'

// Tokens are not stored. If a kill lost a revocation, the browser of somebody who was locked out would be let in again.

setDefaultTimeout(60_000)

let server: Server

beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

test('a kill loses no revocation and no issuer, and ends no token', async () => {
  const { secretKey } = await server.createOrganization()
  const { expectSame } = await makeTokens(server, server.as(secretKey))
  for (let round = 0; round < 3; round++) {
    await server.restart('SIGKILL')
    await expectSame(server, secretKey)
  }
})
