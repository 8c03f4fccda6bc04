import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { type IssuerDeclaration, readStoredIssuer } from '../../core/issuers/issuer.ts'
import { fillGrantTemplates, fillUser } from '../../core/issuers/templates.ts'
import { exchangedTokenSecondsMax } from '../../core/limits.ts'
import { checkTimes, invalidToken, isOf, type LoginToken, parseLoginToken } from '../../core/logins/login-token.ts'
import { refuseUnknownMembers } from '../../core/members.ts'
import { hashUser } from '../../core/tokens/user.ts'
import { encodeUserToken } from '../../core/tokens/user-token.ts'
import type { Issuer } from '../../store/users.ts'
import type { Access } from '../access.ts'
import { refuseOutOfScope } from '../authorize.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { tokenSchemas } from './schemas.ts'
import { presentToken, type TokenOutput } from './token-output.ts'

const issuerOf = (token: LoginToken, issuers: Issuer[]): { epoch: number; declaration: IssuerDeclaration } => {
  const read = issuers.map(({ epoch, declaration }) => ({ epoch, declaration: readStoredIssuer(declaration) }))
  const found = read.filter(({ declaration }) => isOf(token, declaration))
  if (found.length === 1) return found[0]!
  throw invalidToken(
    `${found.length === 0 ? 'No issuer' : 'More than one issuer'} of the organization has the iss and an aud of the login token.`,
    'The issuer and audience of one issuer must be exactly the iss and aud of the login token.',
  )
}

/** A login of that second may be from before the revocation. */
const refuseRevoked = (issuedAtSeconds: number, refusedUntilMs: number | undefined): void => {
  if (refusedUntilMs === undefined || issuedAtSeconds > Math.floor(refusedUntilMs / 1000)) return
  throw new CubbyError('revoked_token', 'The user was revoked after this login.', {
    hint: 'Log in again, and exchange the new login token.',
  })
}

/** Nothing is stored. The epoch is read first: a revocation that is answered meanwhile, or a change of the issuer, ends this token too. */
const exchangeToken = async (
  { engine, apiKey, logins }: Access,
  { token: text }: { token: string },
  nowMs: number,
): Promise<TokenOutput> => {
  const { users, secrets } = engine
  const { id: keyId, orgId } = apiKey
  const madeAtEpoch = await users.epoch()
  const issuers = await users.listIssuers(orgId)
  const token = parseLoginToken(text)
  const { epoch: issuerEpoch, declaration } = issuerOf(token, issuers)
  const { expiresAtMs: loginEndMs, issuedAtSeconds } = checkTimes(token, nowMs)
  await logins.verify(token, orgId, declaration, nowMs)
  const user = fillUser(declaration.user, token.claims)
  refuseRevoked(issuedAtSeconds, await users.refusedUntilMs(orgId, hashUser(user), nowMs))
  const grants = fillGrantTemplates(declaration.grants, token.claims)
  refuseOutOfScope(apiKey, grants)
  const { tokenSeal } = await secrets.at(nowMs)
  const keyEndMs = apiKey.expiresAtMs ?? Number.POSITIVE_INFINITY
  const expiresAtMs = Math.min(loginEndMs, nowMs + exchangedTokenSecondsMax * 1000, keyEndMs)
  const content = { keyId, expiresAtMs, madeAtEpoch, issuerEpoch, user, grants }
  return { token: encodeUserToken(tokenSeal, content), user, grants, expiresAtMs, created: true }
}

const parseToken = (value: unknown): string => {
  if (typeof value === 'string') return value
  throw new CubbyError('invalid_request', `token is ${describeValue(value)}; it takes the text of a JWT.`, {
    field: 'token',
    hint: 'Give the signed login token of the login service.',
  })
}

export const exchangeTokenOperation = defineOperation({
  id: 'exchangeToken',
  area: 'tokens',
  summary: 'Exchange the login token of an issuer for a user token',
  keyNeeded: 'read',
  grants: 'none',
  effect: 'reads',
  route: { method: 'POST', path: '/api/tokens/exchange', body: { schema: 'ExchangeTokenRequest', required: true } },
  read({ members }) {
    refuseUnknownMembers(members, ['token'])
    return { token: parseToken(members.token) }
  },
  run: exchangeToken,
  present: presentToken,
  describe: () => ({
    title: 'Exchange a login token',
    description:
      'The login token is a signed JWT of an issuer of the organization, from a login of the last 24 hours. The user token belongs to the calling key, which may be a public one, and ends with the login token or after an hour, whichever is sooner.',
    returns: 'The token.',
    codes: ['invalid_token', 'invalid_grant', 'key_scope', 'not_granted', 'revoked_token'],
    responses: { created: 'The token.' },
    input: inputOf(tokenSchemas.ExchangeTokenRequest, {}),
    output: ref('UserToken'),
    client: { on: 'tokens', method: 'exchange', result: 'made', args: ({ token }) => [token] },
    examples: [
      {
        name: 'noText',
        summary: 'Something else than a login token',
        input: { token: 5 },
        error: {
          code: 'invalid_request',
          message: 'token is 5; it takes the text of a JWT.',
          field: 'token',
          hint: 'Give the signed login token of the login service.',
        },
      },
    ],
  }),
})
