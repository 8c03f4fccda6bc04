import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  couldAllow,
  type Grant,
  grantedBytes,
  indexGrants,
  type Need,
  type PathNeed,
  parseGrants,
} from '../../../src/core/tokens/grants.ts'
import { runsOf } from '../../harness.ts'
import { Random, testSeed } from '../../model/random.ts'
import { refused } from '../refusal.ts'

// A grant that allows too much shows one person's data to another. The model below knows nothing of the code: it writes every
// need as a line of text, and every grant as a pattern for such lines.

setDefaultTimeout(60_000)

const names = ['app', 'apq', 'ap']
const composed = 'é'
const decomposed = 'e\u0301'
const letters = ['a', 'A', 'd', ':', '/', composed, decomposed, '.', '*']
const values = [
  1,
  '1',
  true,
  'true',
  'a',
  'd',
  '',
  0,
  -0,
  1_767_225_600_000,
  '2026-01-01T00:00:00Z',
  '2026-01-01T01:00:00+01:00',
]

/** Not `.` or `..`, which no key is. */
const word = (random: Random, lengthMax: number): string =>
  Array.from({ length: random.int(1, lengthMax) }, () => random.pick(letters))
    .join('')
    .replace(/^\.{1,2}$/, 'a')

const randomGrant = (random: Random): Grant => {
  const db = random.pick(names)
  const can = random.pick(['read', 'write'] as const)
  const sizeMax = can === 'write' && random.chance(0.3) ? { sizeMax: random.int(1, 3) } : {}
  switch (random.int(0, 5)) {
    case 0:
      return { db, table: random.pick(names), can, ...sizeMax }
    case 1:
      return { db, table: random.pick(names), hash: word(random, 3), can, ...sizeMax }
    case 2:
      return { db, table: random.pick(names), hash: { beginsWith: word(random, 2) }, can, ...sizeMax }
    case 3: {
      const hash = random.pick(values.filter((value) => value !== ''))
      return { db, table: random.pick(names), index: random.pick(['i1', 'i2'] as const), hash, can: 'read' }
    }
    case 4: {
      const prefix = random.chance(0.3) ? {} : { prefix: `${word(random, 2).replaceAll(/[./]/g, 'x')}/` }
      return { db, bucket: random.pick(names), ...prefix, can, ...sizeMax }
    }
    default:
      return { db, task: random.pick(names), can: 'run' }
  }
}

const randomNeed = (random: Random): Exclude<Need, { of: 'nothing' }> => {
  const db = random.pick(names)
  const can = random.pick(['read', 'write'] as const)
  switch (random.int(0, 4)) {
    case 0:
    case 1: {
      const hash = random.chance(0.2) ? {} : { hash: word(random, 4) }
      return { of: 'table', db, table: random.pick(names), can, ...hash }
    }
    case 2:
      return { of: 'index', db, table: random.pick(names), index: random.pick(['i1', 'i2']), hash: random.pick(values) }
    case 3: {
      const name = random.chance(0.2) ? '' : word(random, 4)
      return { of: 'file', db, bucket: random.pick(names), can, name }
    }
    default:
      return { of: 'task', db, task: random.pick(names) }
  }
}

/** A date-time is the number of its milliseconds, and -0 is 0. */
const valueText = (value: unknown): string => {
  const isTime = typeof value === 'string' && /^\d{4}-/.test(value)
  const meant = isTime ? Date.parse(value) : value
  return `${typeof meant} ${meant === 0 ? '0' : meant}`
}

const lineOf = (need: Need): string => {
  switch (need.of) {
    case 'table':
      return `table ${need.db} ${need.table} ${need.can} ${need.hash === undefined ? 'whole' : `key ${need.hash}`}`
    case 'index':
      return `table ${need.db} ${need.table} read ${need.index} ${valueText(need.hash)}`
    case 'file':
      return `bucket ${need.db} ${need.bucket} ${need.can} ${need.name}`
    case 'task':
      return `task ${need.db} ${need.task}`
    case 'nothing':
      return 'nothing'
  }
}

/** What the path of a request with that need says; `key`: it names the hash key, or the file, too. */
const pathOf = (
  need: Exclude<Need, { of: 'nothing' }>,
  key?: string,
): PathNeed & { of: 'table' | 'bucket' | 'task' } => {
  const { db } = need
  if (need.of === 'task') return { of: 'task', can: 'read', db, name: need.task }
  if (need.of === 'file') return { of: 'bucket', can: need.can, db, name: need.bucket, key }
  return { of: 'table', can: need.of === 'index' ? 'read' : need.can, db, name: need.table, key }
}

const keyOf = (need: Need): string | undefined =>
  need.of === 'table' ? need.hash : need.of === 'file' ? need.name : undefined

const exactly = (text: string): string =>
  text.replaceAll(/[^A-Za-z0-9 ]/gu, (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`)

const patternOf = (grant: Grant): RegExp => {
  const can = grant.can === 'write' ? '(read|write)' : 'read'
  const pattern = (): string => {
    if ('task' in grant) return `task ${grant.db} ${grant.task}`
    if ('bucket' in grant) return `bucket ${grant.db} ${grant.bucket} ${can} ${exactly(grant.prefix ?? '')}.*`
    const table = `table ${grant.db} ${grant.table} ${can}`
    if ('index' in grant) return `${table} ${grant.index} ${exactly(valueText(grant.hash))}`
    if (grant.hash === undefined) return `${table} .*`
    return typeof grant.hash === 'string'
      ? `${table} key ${exactly(grant.hash)}`
      : `${table} key ${exactly(grant.hash.beginsWith)}.*`
  }
  return new RegExp(`^${pattern()}$`, 'su')
}

describe('what grants allow', () => {
  test('is what a naive model says, in 100,000 random cases', () => {
    const seed = testSeed()
    const random = new Random(seed)
    let allowed = 0
    const pool = Array.from({ length: 3_000 }, () => {
      const grant = randomGrant(random)
      // The parser leaves a grant as it is.
      const text = JSON.stringify([grant])
      if (JSON.stringify(parseGrants(JSON.parse(text))) !== text) throw new Error(`parsed otherwise: ${text}`)
      return { grant, pattern: patternOf(grant) }
    })
    for (let i = 0; i < runsOf(100_000); i++) {
      const picked = Array.from({ length: random.int(1, 25) }, () => random.pick(pool))
      const grants = picked.map(({ grant }) => grant)
      const need = randomNeed(random)
      const line = lineOf(need)
      const matching = picked.filter(({ pattern }) => pattern.test(line)).map(({ grant }) => grant)
      const bytes = matching.map((grant) => ('sizeMax' in grant && grant.sizeMax) || Number.POSITIVE_INFINITY)
      const expected = matching.length === 0 ? undefined : Math.max(...bytes)
      const { of, db, name } = pathOf(need)
      // A token of many grants has them by what they are on.
      const candidates = indexGrants(grants)(of, db, name)
      const found = grantedBytes(candidates, need)
      if (found !== expected) throw new Error(`seed ${seed}: ${JSON.stringify({ grants, need, found, expected })}`)
      if (found === undefined) continue
      allowed++
      // The look at the path comes first, and refuses nothing of it.
      const passed = [undefined, keyOf(need)].map((key) => couldAllow(candidates, pathOf(need, key)))
      if (passed.includes(false)) throw new Error(`seed ${seed}: ${JSON.stringify({ grants, need, passed })}`)
    }
    // Neither nearly all nor nearly none.
    expect(allowed).toBeGreaterThan(runsOf(100_000) * 0.1)
    expect(allowed).toBeLessThan(runsOf(100_000) * 0.9)
  })
})

describe('a malformed grant names its member', () => {
  const good = { db: 'app', table: 'notes', hash: 'ada', can: 'write' }
  const file = { db: 'app', bucket: 'pictures', prefix: 'ada/', can: 'read' }
  const index = { db: 'app', table: 'notes', index: 'i1', hash: 'open', can: 'read' }
  const run = { db: 'app', task: 'mail', can: 'run' }
  const cases: [what: string, grant: unknown, field: string][] = [
    ['null', null, 'grants[2]'],
    ['a list', [], 'grants[2]'],
    ['nothing named', { db: 'app', can: 'read' }, 'grants[2]'],
    ['two things named', { ...good, bucket: 'pictures' }, 'grants[2]'],
    ['no db', { ...good, db: undefined }, 'grants[2].db'],
    ['a db against the rule', { ...good, db: 'App' }, 'grants[2].db'],
    ['a reserved db', { ...good, db: '_app' }, 'grants[2].db'],
    ['a table against the rule', { ...good, table: 'no tes' }, 'grants[2].table'],
    ['an empty hash', { ...good, hash: '' }, 'grants[2].hash'],
    ['a hash of null', { ...good, hash: null }, 'grants[2].hash'],
    ['a number as hash', { ...good, hash: 5 }, 'grants[2].hash'],
    ['a hash too long', { ...good, hash: 'x'.repeat(1_025) }, 'grants[2].hash'],
    ['a hash with a lone surrogate', { ...good, hash: '\ud800' }, 'grants[2].hash'],
    ['a hash that is a list', { ...good, hash: ['ada'] }, 'grants[2].hash'],
    ['an empty beginning', { ...good, hash: { beginsWith: '' } }, 'grants[2].hash.beginsWith'],
    ['no beginning', { ...good, hash: {} }, 'grants[2].hash.beginsWith'],
    ['a beginning too long', { ...good, hash: { beginsWith: 'é'.repeat(513) } }, 'grants[2].hash.beginsWith'],
    ['more than a beginning', { ...good, hash: { beginsWith: 'a', endsWith: 'b' } }, 'grants[2].hash.endsWith'],
    ['an unknown verb', { ...good, can: 'delete' }, 'grants[2].can'],
    ['no verb', { ...good, can: undefined }, 'grants[2].can'],
    ['run on a table', { ...good, can: 'run' }, 'grants[2].can'],
    ['read on a task', { ...run, can: 'read' }, 'grants[2].can'],
    ['a size with read', { ...good, can: 'read', sizeMax: 5 }, 'grants[2].sizeMax'],
    ['a size of zero', { ...good, sizeMax: 0 }, 'grants[2].sizeMax'],
    ['a size with a fraction', { ...good, sizeMax: 1.5 }, 'grants[2].sizeMax'],
    ['a size of null', { ...good, sizeMax: null }, 'grants[2].sizeMax'],
    ['a size above that of records', { ...good, sizeMax: 500_000 }, 'grants[2].sizeMax'],
    ['an unknown member', { ...good, owner: 'ada' }, 'grants[2].owner'],
    ['a prefix on a table', { ...good, prefix: 'ada/' }, 'grants[2].prefix'],
    ['an index t', { ...index, index: 't' }, 'grants[2].index'],
    ['an index that none is', { ...index, index: 'i6' }, 'grants[2].index'],
    ['an index with write', { ...index, can: 'write' }, 'grants[2].can'],
    ['an index without hash', { ...index, hash: undefined }, 'grants[2].hash'],
    ['an index with an empty hash', { ...index, hash: '' }, 'grants[2].hash'],
    ['an index with a beginning', { ...index, hash: { beginsWith: 'o' } }, 'grants[2].hash'],
    ['an index with a size', { ...index, sizeMax: 5 }, 'grants[2].sizeMax'],
    ['an empty prefix', { ...file, prefix: '' }, 'grants[2].prefix'],
    ['a prefix without its slash', { ...file, prefix: 'ada' }, 'grants[2].prefix'],
    ['a prefix of a slash', { ...file, prefix: '/' }, 'grants[2].prefix'],
    ['a prefix that climbs', { ...file, prefix: '../' }, 'grants[2].prefix'],
    ['a hash on a bucket', { ...file, hash: 'ada' }, 'grants[2].hash'],
    ['a task against the rule', { ...run, task: '' }, 'grants[2].task'],
    ['a hash on a task', { ...run, hash: 'ada' }, 'grants[2].hash'],
  ]
  test.each(cases)('%s', (_, grant, field) => {
    expect(refused(() => parseGrants([good, file, JSON.parse(JSON.stringify(grant))]))).toEqual([
      'invalid_grant',
      field,
    ])
  })

  test('the list has 1 to 25', () => {
    for (const grants of [undefined, null, {}, [], Array(26).fill(good)]) {
      expect(refused(() => parseGrants(grants))).toEqual(['invalid_grant', 'grants'])
    }
    expect(parseGrants(Array(25).fill(index))).toHaveLength(25)
  })
})
