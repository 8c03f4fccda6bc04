import { expect } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import type { Api, Json, Server } from './harness.ts'
import { ok } from './http/service.ts'

const grants = [{ db: 'app', table: 'tokens', can: 'write' }]

const makeToken = async (api: Api, user: string): Promise<string> =>
  ok(await api.post('/api/tokens', { user, grants }), 201).token

const statesOf = async (server: Server, tokens: string[]): Promise<string[]> => {
  const put = { hashKey: 'a', data: {} }
  const answers = await Promise.all(tokens.map((token) => server.as(token).put('/v1/app/tokens', put)))
  return answers.map(({ status, body }) => body.error?.code ?? status)
}

const publicKey = (): Json => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })

/** Makes tokens in each state, and an issuer. Returns a check that a server has them all. */
export const makeTokens = async (server: Server, api: Api) => {
  ok(await api.post('/v1/app/tokens'), 201)
  const issuer = { issuer: 'https://login.invalid', audience: 'app', keys: { keys: [publicKey()] }, grants }
  ok(await api.put('/api/issuers/login', issuer), 201)
  const old = [await makeToken(api, 'ada'), await makeToken(api, 'bob')]
  ok(await api.post('/api/tokens/revoke', { user: 'ada' }))
  const tokens = [...old, await makeToken(api, 'ada')]
  const issuers = ok(await api.get('/api/issuers'))
  const expectSame = async (on: Server, key: string): Promise<void> => {
    expect(await statesOf(on, tokens)).toEqual(['revoked_token', 200, 200] as never)
    expect(ok(await on.as(key).get('/api/issuers'))).toEqual(issuers)
  }
  await expectSame(server, api.key)
  return { expectSame, tokens }
}
