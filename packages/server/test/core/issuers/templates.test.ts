import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import {
  checkUserTemplate,
  fillGrantTemplates,
  fillUser,
  parseGrantTemplates,
} from '../../../src/core/issuers/templates.ts'
import { type Grant, grantedBytes, type Need } from '../../../src/core/tokens/grants.ts'
import { type Json, runsOf } from '../../harness.ts'
import { refusal, refused } from '../refusal.ts'

setDefaultTimeout(60_000)

const read = { db: 'app', table: 'notes', can: 'read' }
const parse = (...grants: Json[]) => parseGrantTemplates(grants)
const fill = (grant: Json, claims: Json): Grant => fillGrantTemplates(parse(grant), claims)[0]!
const hashOf = (template: string, claims: Json): unknown => (fill({ ...read, hash: template }, claims) as Json).hash

describe('a template', () => {
  test('has claims in db, hash, the beginning of a hash, and prefix', () => {
    expect(fill({ ...read, db: 'org-{org}', hash: '{sub}' }, { org: 'x', sub: 'ada' })).toEqual({
      ...read,
      db: 'org-x',
      hash: 'ada',
    } as Grant)
    expect(fill({ ...read, hash: { beginsWith: '{sub}:' } }, { sub: 'ada' })).toMatchObject({
      hash: { beginsWith: 'ada:' },
    })
    const pictures = { db: 'app', bucket: 'pictures', prefix: 'of/{sub}/', can: 'read' }
    expect(fill(pictures, { sub: 'ada' })).toMatchObject({ prefix: 'of/ada/' })
    expect(fill({ ...read, index: 'i1', hash: '{sub}' }, { sub: 7 })).toMatchObject({ hash: '7' })
  })

  test('has {{ for a brace, and takes } and }} as they are', () => {
    expect(hashOf('{{sub}', { sub: 'ada' })).toBe('{sub}')
    expect(hashOf('{{{sub}}}', { sub: 'ada' })).toBe('{ada}}')
    expect(hashOf('{sub}{{x', { sub: 'ada' })).toBe('ada{x')
    expect(hashOf('a}b}}', {})).toBe('a}b}}')
  })

  test('that is no text is left to the rules of grants', () => {
    expect(refused(() => parse({ ...read, hash: 7 }))).toEqual(['invalid_grant', 'grants[0].hash'])
    expect(refused(() => parse({ ...read, db: null }))).toEqual(['invalid_grant', 'grants[0].db'])
    expect(refused(() => parse(7))).toEqual(['invalid_grant', 'grants[0]'])
    expect(refused(() => parseGrantTemplates({}))).toEqual(['invalid_grant', 'grants'])
    expect(parse({ ...read, index: 'i1', hash: true })).toEqual([{ ...read, index: 'i1', hash: true }])
  })

  test('is kept as it was sent, its members in one order', () => {
    const [grant] = parse({ hash: '{sub}', can: 'write', sizeMax: 5, table: 'notes', db: 'app' })
    expect(JSON.stringify(grant)).toBe('{"db":"app","table":"notes","hash":"{sub}","can":"write","sizeMax":5}')
  })

  for (const [name, grant] of Object.entries({
    'a placeholder directly before another': { ...read, hash: '{a}{b}' },
    'a placeholder at the end of a beginning': { ...read, hash: { beginsWith: 'u:{sub}' } },
    'a brace that does not close': { ...read, hash: 'a{sub' },
    'a brace in a placeholder': { ...read, hash: 'a{s{b}' },
    'no name': { ...read, hash: '{}' },
  })) {
    test(`is refused: ${name}`, () => {
      expect(refused(() => parse(read, read, grant))).toEqual(['invalid_grant', 'grants[2].hash'])
    })
  }

  test('is refused: a prefix that does not end with a slash, and a db that is no name', () => {
    const pictures = { db: 'app', bucket: 'pictures', can: 'read' }
    expect(refused(() => parse({ ...pictures, prefix: '{sub}' }))).toEqual(['invalid_grant', 'grants[0].prefix'])
    expect(refusal(() => parse({ ...pictures, prefix: '{sub}' })).hint).toBe('Put "/" after it.')
    expect(refused(() => parse({ ...read, db: 'App-{org}' }))).toEqual(['invalid_grant', 'grants[0].db'])
    expect(refused(() => checkUserTemplate('a{b}{c}'))).toEqual(['invalid_grant', 'user'])
    expect(refused(() => checkUserTemplate('a\n'))).toEqual(['invalid_grant', 'user'])
    checkUserTemplate('a:{b}')
  })
})

describe('a value', () => {
  const notGranted = (grant: Json, claims: Json): string => {
    const error = refusal(() => fill(grant, claims))
    expect(error.code).toBe('not_granted')
    return error.message
  }

  for (const [name, value] of Object.entries<Json>({
    missing: undefined,
    empty: '',
    null: null,
    'a list': ['ada'],
    'an object': {},
    true: true,
    'a fraction': 1.5,
    'too large': 2 ** 53,
    'too small': -(2 ** 53),
    'with NUL': 'a\0b',
    'with a line break': 'a\nb',
    'with a control character of Latin 1': 'a\u0085b',
    'with a lone surrogate': 'a\ud800',
  })) {
    test(`is refused, and its claim is named: ${name}`, () => {
      const claims = value === undefined ? {} : { sub: value }
      expect(notGranted({ ...read, hash: '{sub}' }, claims)).toContain('claim sub ')
      expect(refusal(() => fillUser('auth:{sub}', claims)).code).toBe('not_granted')
    })
  }

  test('that no claim has is not found on the prototype of objects', () => {
    expect(notGranted({ ...read, hash: '{toString}' }, {})).toContain('toString')
  })

  test('may be an integer, which becomes its digits', () => {
    expect(hashOf('{sub}', { sub: 42 })).toBe('42')
    expect(hashOf('{sub}', { sub: -(2 ** 53 - 1) })).toBe('-9007199254740991')
    expect(hashOf('{sub}', { sub: -0 })).toBe('0')
  })

  test('is not read again', () => {
    expect(hashOf('u:{sub}', { sub: '{org}', org: 'x' })).toBe('u:{org}')
    expect(hashOf('u:{sub}', { sub: '{{' })).toBe('u:{{')
  })

  test('must not contain the character that follows, and may contain any other', () => {
    expect(notGranted({ ...read, hash: { beginsWith: '{sub}:' } }, { sub: 'ada:x' })).toContain('claim sub ')
    expect(notGranted({ ...read, hash: '{sub}{{' }, { sub: 'a{' })).toContain('claim sub ')
    expect(notGranted({ ...read, hash: '{sub}😀' }, { sub: 'a😀' })).toContain('claim sub ')
    expect(hashOf('{sub}😀', { sub: 'a😎' })).toBe('a😎😀')
    expect(hashOf('{org}:{sub}', { org: 'a/b', sub: 'c:d' })).toBe('a/b:c:d')
    expect(hashOf('{sub}', { sub: 'a:b/../c' })).toBe('a:b/../c')
  })

  test('in a prefix has no slash, and is neither . nor ..', () => {
    const pictures = { db: 'app', bucket: 'pictures', prefix: '{sub}/', can: 'read' }
    for (const sub of ['a/b', '..', '.', '/']) notGranted(pictures, { sub })
  })

  test('in an index does not read as a date-time: there it would be a number', () => {
    const byDay = { ...read, index: 'i1', hash: '{day}' }
    notGranted(byDay, { day: '2026-01-05T10:00:00Z' })
    expect(fill(byDay, { day: '2026-01-05' })).toMatchObject({ hash: '2026-01-05' })
    notGranted({ ...byDay, hash: 'of:{day}' }, { day: '2026-01-05T10:00:00Z' })
    notGranted({ ...byDay, hash: '2026-01-0{day}T10:00:00Z' }, { day: 5 })
    expect(fill({ ...read, hash: '{day}' }, { day: '2026-01-05T10:00:00Z' })).toMatchObject({
      hash: '2026-01-05T10:00:00Z',
    })
  })

  test('that breaks the rule of a name or a key is refused, and not repeated', () => {
    const message = notGranted({ ...read, db: '{org}' }, { org: 'Secret Org' })
    expect(message).toContain('claim org ')
    expect(message).not.toContain('Secret')
    notGranted({ ...read, db: '{org}' }, { org: '_x' })
    notGranted({ ...read, hash: '{sub}' }, { sub: 'a'.repeat(1025) })
    expect(refusal(() => fillUser('auth:{sub}', { sub: 'a'.repeat(252) })).code).toBe('not_granted')
    expect(fillUser('auth:{sub}', { sub: 'a'.repeat(251) })).toHaveLength(256)
  })
})

test('ada reaches neither adam nor what ada:x has', () => {
  const need = (hash: string): Need => ({ of: 'table', db: 'app', table: 'notes', can: 'read', hash })
  const granted = (template: Json, hash: string): boolean =>
    grantedBytes([fill({ ...read, hash: template }, { sub: 'ada' })], need(hash)) !== undefined
  expect([granted('{sub}', 'ada'), granted('{sub}', 'adam'), granted('{sub}', 'ada:x')]).toEqual([true, false, false])
  const beginning = { beginsWith: '{sub}:' }
  expect([granted(beginning, 'ada:1'), granted(beginning, 'adam:1'), granted(beginning, 'ada')]).toEqual([
    true,
    false,
    false,
  ])
})

// Without this, one person would read what belongs to another whose claims only look alike.
test('what one person may touch is never what a template gives to another', () => {
  const part = fc.constantFrom('a', 'b', ':', '/', '-', '{{', 'ab')
  const placeholder = fc.constantFrom('{x}', '{y}')
  const template = fc.array(fc.oneof(part, placeholder), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
  const value = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'b', ':', '/', '-', '{', '}'), minLength: 1, maxLength: 4 }),
    fc.integer({ min: -20, max: 20 }),
  )
  const claims = fc.record({ x: value, y: value })
  const kind = fc.constantFrom('hash', 'beginning', 'prefix')

  const grantOf = (text: string, of: string): Json =>
    of === 'prefix'
      ? { db: 'app', bucket: 'files', prefix: `${text}/`, can: 'read' }
      : { ...read, hash: of === 'hash' ? text : { beginsWith: text } }

  /** What belongs to a person: the text of the filled template, followed by anything where only a beginning is granted. */
  const needOf = (grant: Json, more: string): Need => {
    if (grant.bucket !== undefined)
      return { of: 'file', db: 'app', bucket: 'files', can: 'read', name: grant.prefix + more }
    const hash = typeof grant.hash === 'string' ? grant.hash : grant.hash.beginsWith + more
    return { of: 'table', db: 'app', table: 'notes', can: 'read', hash }
  }

  const attempt = <T>(run: () => T): T | undefined => {
    try {
      return run()
    } catch {
      return undefined
    }
  }

  let compared = 0
  fc.assert(
    fc.property(template, kind, claims, claims, fc.string({ maxLength: 3 }), (text, of, one, other, more) => {
      const templates = attempt(() => parse(grantOf(text, of)))
      if (templates === undefined) return
      const own = attempt(() => fillGrantTemplates(templates, one))
      const others = attempt(() => fillGrantTemplates(templates, other))
      if (own === undefined || others === undefined) return
      const names = (['x', 'y'] as const).filter((name) => text.includes(`{${name}}`))
      // A number and its digits are the same value.
      if (names.every((name) => String(one[name]) === String(other[name]))) return
      compared++
      expect(grantedBytes(own, needOf(others[0]!, more))).toBeUndefined()
    }),
    { numRuns: runsOf(10_000) },
  )
  expect(compared).toBeGreaterThan(100)
})
