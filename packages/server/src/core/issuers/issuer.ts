import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { issuerBytesMax, issuerKeysMax, issuerTextBytesMax } from '../limits.ts'
import { type Members, parseObject, refuseUnknownMembers } from '../members.ts'
import { parsePushUrl } from '../push-url.ts'
import { hasControlCharacter } from '../tokens/user.ts'
import { type IssuerKey, parseIssuerKey } from './issuer-key.ts'
import { checkUserTemplate, parseGrantTemplates } from './templates.ts'

/** A login service whose tokens are exchanged for user tokens. The store keeps it as JSON text, its members in this order. */
export interface IssuerDeclaration {
  /** The claim `iss` of its tokens. */
  issuer: string
  /** The claim `aud`, or a member of it. */
  audience: string
  /** Either the public keys or the URL of them. */
  keys?: { keys: IssuerKey[] }
  keysUrl?: string
  /** The template of the user. */
  user: string
  /** The templates of the grants. */
  grants: Members[]
}

const parseText = (value: unknown, field: 'issuer' | 'audience' | 'user', hint: string): string => {
  const isText = typeof value === 'string' && value !== '' && value.isWellFormed() && !hasControlCharacter(value)
  if (isText && Buffer.byteLength(value) <= issuerTextBytesMax) return value
  throw new CubbyError(
    'invalid_request',
    `${field} is ${describeValue(value)}; it takes 1 to ${issuerTextBytesMax} bytes of text without control characters.`,
    { field, hint },
  )
}

const parseKeys = (value: unknown): { keys: IssuerKey[] } => {
  const { keys } = parseObject(value, 'keys')
  if (!Array.isArray(keys) || keys.length < 1 || keys.length > issuerKeysMax) {
    const found = Array.isArray(keys) ? `an array of ${keys.length}` : describeValue(keys)
    throw new CubbyError('invalid_request', `keys.keys is ${found}; it takes 1 to ${issuerKeysMax} public keys.`, {
      field: 'keys.keys',
      hint: 'Give the JSON Web Key Set of the login service, or its address as keysUrl.',
    })
  }
  return { keys: keys.map((key, i) => parseIssuerKey(key, `keys.keys[${i}]`)) }
}

const urlTexts = {
  field: 'keysUrl',
  hint: 'Give the address of the keys of the login service, for example "https://login.example.com/.well-known/jwks.json".',
  lengthHint: 'Give the address of the keys of the login service.',
  userHint: 'Leave them out: public keys need no password.',
}

const parseSource = ({ keys, keysUrl }: Members): Pick<IssuerDeclaration, 'keys' | 'keysUrl'> => {
  if ((keys === undefined) === (keysUrl === undefined)) {
    throw new CubbyError(
      'invalid_request',
      keys === undefined ? 'keys and keysUrl are missing; it takes one of them.' : 'keys and keysUrl are both given.',
      { field: 'keys', hint: 'Give the public keys themselves as keys, or their address as keysUrl.' },
    )
  }
  return keys === undefined ? { keysUrl: parsePushUrl(keysUrl, urlTexts) } : { keys: parseKeys(keys) }
}

const fields = ['issuer', 'audience', 'keys', 'keysUrl', 'user', 'grants']

/** Checks the declaration of an issuer. Whether `keysUrl` may be reached is checked elsewhere. */
export const parseIssuer = (members: Members): Omit<IssuerDeclaration, 'user'> & { user: string | undefined } => {
  refuseUnknownMembers(members, fields)
  const issuer = parseText(members.issuer, 'issuer', 'Give the claim iss of the login tokens, exactly as it is there.')
  const audience = parseText(
    members.audience,
    'audience',
    'Give the claim aud of the login tokens: the id of your application there.',
  )
  const source = parseSource(members)
  const user = members.user === undefined ? undefined : parseText(members.user, 'user', 'For example "auth:{sub}".')
  if (user !== undefined) checkUserTemplate(user)
  return { issuer, audience, ...source, user, grants: parseGrantTemplates(members.grants) }
}

/** The text that the store keeps. Two issuers never share a user unless their templates say so. */
export const encodeIssuer = (name: string, { user, grants, ...others }: ReturnType<typeof parseIssuer>): string => {
  const declaration = JSON.stringify({ ...others, user: user ?? `${name}:{sub}`, grants })
  const bytes = Buffer.byteLength(declaration)
  if (bytes <= issuerBytesMax) return declaration
  throw new CubbyError('invalid_request', `The issuer has ${bytes} bytes; it takes at most ${issuerBytesMax}.`, {
    hint: 'Give keysUrl instead of keys, or fewer grants.',
  })
}

export const readStoredIssuer = (declaration: string): IssuerDeclaration => JSON.parse(declaration) as IssuerDeclaration

/** No two issuers of an organization have the same: a login token would be of both. */
export const identityOf = ({ issuer, audience }: Pick<IssuerDeclaration, 'issuer' | 'audience'>): string =>
  JSON.stringify([issuer, audience])
