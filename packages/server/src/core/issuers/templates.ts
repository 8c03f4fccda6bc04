import { CubbyError } from '../errors.ts'
import type { Members } from '../members.ts'
import { parseIsoDateTime } from '../text/iso-date-time.ts'
import { type Grant, parseGrants } from '../tokens/grants.ts'
import { hasControlCharacter, isUser } from '../tokens/user.ts'

// In the user of an issuer and in `db`, `hash` and `prefix` of its grants, `{claim}` stands for a claim of the login token. Two
// values of a claim must never give texts of which one reaches what belongs to the other: that is what the rules here are for.

interface Placeholder {
  claim: string
  /** The character that follows; undefined at the end. The value must not contain it, so that it ends where the template says. */
  next: string | undefined
}

type Part = string | Placeholder

/** The meaning of a text in a grant: `beginning`, if everything that begins so is granted; `index`, if it is an index value. */
type Use = 'whole' | 'beginning' | 'index'

const refuse = (field: string, message: string, hint: string): never => {
  throw new CubbyError('invalid_grant', `${field} ${message}`, { field, hint })
}

const braceHint = 'Write {sub} for the claim sub, and {{ for a brace.'

const parsePlaceholder = (text: string, start: number, field: string): Placeholder & { end: number } => {
  const end = text.indexOf('}', start)
  const claim = text.slice(start + 1, end)
  if (end < 0 || claim.includes('{')) return refuse(field, 'has a "{" without "}".', braceHint)
  if (claim === '') return refuse(field, 'has a placeholder without the name of a claim.', braceHint)
  const code = text.codePointAt(end + 1)
  return { claim, end, next: code === undefined ? undefined : String.fromCodePoint(code) }
}

const parseTemplate = (text: string, field: string, use: Use): Part[] => {
  const parts: Part[] = []
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf('{', at)
    if (start !== at) parts.push(text.slice(at, start < 0 ? text.length : start))
    if (start < 0) break
    if (text[start + 1] === '{') {
      parts.push('{')
      at = start + 2
      continue
    }
    const { claim, next, end } = parsePlaceholder(text, start, field)
    if (next === '{' && text[end + 2] !== '{') {
      refuse(field, `has {${claim}} directly before another placeholder.`, 'Put a character such as ":" between them.')
    }
    if (next === undefined && use === 'beginning') {
      const end = field.endsWith('.prefix') ? '"/"' : 'a character such as ":"'
      refuse(field, `ends with {${claim}}: "ada" would reach "adam".`, `Put ${end} after it.`)
    }
    parts.push({ claim, next })
    at = end + 1
  }
  return parts
}

/** Gives the text that stands for a template. */
type Fill = (template: string, field: string, use: Use) => string

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The grants with their templates filled. What is no template stays as it is: `parseGrants` judges it. */
const fillGrants = (grants: unknown, fill: Fill): unknown =>
  Array.isArray(grants) ? grants.map((grant, i) => fillGrant(grant, `grants[${i}]`, fill)) : grants

const fillGrant = (grant: unknown, field: string, fill: Fill): unknown => {
  if (!isObject(grant)) return grant
  const { hash, index } = grant
  const filled = (name: string, value: unknown, use: Use): object =>
    typeof value === 'string' ? { [name]: fill(value, `${field}.${name}`, use) } : {}
  return {
    ...grant,
    ...filled('db', grant.db, 'whole'),
    ...filled('prefix', grant.prefix, 'beginning'),
    ...(isObject(hash) && typeof hash.beginsWith === 'string'
      ? { hash: { ...hash, beginsWith: fill(hash.beginsWith, `${field}.hash`, 'beginning') } }
      : filled('hash', hash, index === undefined ? 'whole' : 'index')),
  }
}

// ── When an issuer is put ──────────────────────────────────────────────────────────────────────────────────

/** A value that every rule takes. */
const sampleOf = ({ next }: Placeholder): string => (next === 'a' ? 'b' : 'a')

const fillSample: Fill = (template, field, use) =>
  parseTemplate(template, field, use)
    .map((part) => (typeof part === 'string' ? part : sampleOf(part)))
    .join('')

/** Checks the template of the user. Throws `invalid_grant`. */
export const checkUserTemplate = (template: string): void => {
  if (!isUser(fillSample(template, 'user', 'whole'))) {
    refuse(
      'user',
      'is no name of a user when it is filled.',
      'It takes text without control characters, such as "auth:{sub}".',
    )
  }
}

/** Checks the templates of grants. Throws `invalid_grant`. Returns them with their members in one order. */
export const parseGrantTemplates = (grants: unknown): Members[] => {
  const parsed = parseGrants(fillGrants(grants, fillSample))
  return parsed.map((grant, i) => {
    const sent = (grants as Members[])[i]!
    return Object.fromEntries(Object.keys(grant).map((name) => [name, sent[name]]))
  })
}

// ── When a login token is exchanged ────────────────────────────────────────────────────────────────────────

const notGranted = (claims: readonly string[], reason: string): CubbyError =>
  new CubbyError('not_granted', `The ${claims.length === 1 ? 'claim' : 'claims'} ${claims.join(', ')} ${reason}`, {
    hint: 'The issuer has grants with this claim: its values must be those that they take.',
  })

const textOf = (value: unknown): string | undefined => {
  if (Number.isSafeInteger(value)) return String(value)
  return typeof value === 'string' && value !== '' && value.isWellFormed() && !hasControlCharacter(value)
    ? value
    : undefined
}

const valueFor = ({ claim, next }: Placeholder, claims: Members, use: Use): string => {
  if (!Object.hasOwn(claims, claim)) throw notGranted([claim], 'is missing in the login token.')
  const value = textOf(claims[claim])
  if (value === undefined) {
    throw notGranted([claim], 'is no text without control characters and no integer, or is empty.')
  }
  if (next !== undefined && value.includes(next)) {
    throw notGranted([claim], `contains ${JSON.stringify(next)}, the character that follows it in the issuer.`)
  }
  if (use === 'index') refuseDateTime(value, [claim])
  return value
}

/** In an index a date-time is a number: another text could be the same. */
const refuseDateTime = (text: string, claims: readonly string[]): void => {
  if (parseIsoDateTime(text) !== undefined) throw notGranted(claims, 'cannot stand for a date-time in an index.')
}

const claimsIn = (parts: readonly Part[]): string[] => [
  ...new Set(parts.flatMap((part) => (typeof part === 'string' ? [] : [part.claim]))),
]

const fillFrom =
  (claims: Members): Fill =>
  (template, field, use) => {
    const parts = parseTemplate(template, field, use)
    const text = parts.map((part) => (typeof part === 'string' ? part : valueFor(part, claims, use))).join('')
    const names = claimsIn(parts)
    if (use === 'index' && names.length > 0) refuseDateTime(text, names)
    return text
  }

/** The user of a login token. Throws `not_granted`, which names the claim that is missing or has a value that is not allowed. */
export const fillUser = (template: string, claims: Members): string => {
  const user = fillFrom(claims)(template, 'user', 'whole')
  if (isUser(user)) return user
  throw notGranted(
    claimsIn(parseTemplate(template, 'user', 'whole')),
    'cannot stand in the name of a user: it is too long.',
  )
}

/** The grants for a login token. Throws `not_granted`, as `fillUser` does. */
export const fillGrantTemplates = (templates: readonly Members[], claims: Members): Grant[] => {
  let claimsOfField: string[] = []
  try {
    return templates.flatMap((template, i) => {
      const names: string[] = []
      const filled = fillGrant(template, `grants[${i}]`, (text, field, use) => {
        names.push(...claimsIn(parseTemplate(text, field, use)))
        return fillFrom(claims)(text, field, use)
      })
      claimsOfField = [...new Set(names)]
      return parseGrants([filled])
    })
  } catch (error) {
    if (!(error instanceof CubbyError) || error.code === 'not_granted') throw error
    throw notGranted(
      claimsOfField,
      'cannot stand in a grant of the issuer: its value is against the rules of names and keys.',
    )
  }
}
