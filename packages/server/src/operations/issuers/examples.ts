import { type ExampleCall, laterAt } from '../example.ts'

const key = {
  kty: 'EC',
  kid: 'login-1',
  use: 'sig',
  alg: 'ES256',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
}

export const withoutKeys = {
  issuer: 'https://login.example.com/',
  audience: 'notes-app',
  user: 'auth:{sub}',
  grants: [
    { db: 'app', table: 'notes', hash: '{sub}', can: 'write' },
    { db: 'app', bucket: 'pictures', prefix: '{sub}/', can: 'write', sizeMax: 1_000_000 },
  ],
}

const { issuer, audience, ...rest } = withoutKeys
/** In the order in which an issuer is shown. */
export const auth = { issuer, audience, keys: { keys: [key] }, ...rest }

export const storedAuth = { name: 'auth', ...auth, createdAt: laterAt, updatedAt: laterAt }

export const putAuth: ExampleCall = { operation: 'putIssuer', input: { name: 'auth', ...auth }, output: storedAuth }
