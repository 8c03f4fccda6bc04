import { expect, test } from 'bun:test'
import { encodeScanCursor } from '../../../src/core/cursor.ts'
import { CursorSeal, TextSeal } from '../../../src/core/cursor-seal.ts'
import { connectionIdleSecondsMax, waitSecondsMax } from '../../../src/core/limits.ts'
import { readScalar } from '../../../src/core/scalar.ts'
import { claimLimitRule, waitSecondsRule } from '../../../src/core/tasks/parse-numbers.ts'
import { parseRunQuery, planRunQuery } from '../../../src/core/tasks/run-query.ts'
import { refused } from '../refusal.ts'

test('the limit of a claim is 1 to 100, 1 if it is absent; above is an error', () => {
  expect([undefined, 1, 100].map((limit) => readScalar(claimLimitRule, limit, 'limit'))).toEqual([undefined, 1, 100])
  for (const limit of [0, 101, 1.5, '5', null, Number.POSITIVE_INFINITY]) {
    expect(refused(() => readScalar(claimLimitRule, limit, 'limit'))).toEqual(['invalid_request', 'limit'])
  }
})

test('a wait takes 0 to 20 seconds, 0 if it is absent, and no connection is idle for too long meanwhile', () => {
  expect([undefined, 0, 20].map((wait) => readScalar(waitSecondsRule, wait, 'waitSeconds'))).toEqual([undefined, 0, 20])
  for (const wait of [-1, 21, 0.5, '5', 'soon', null]) {
    expect(refused(() => readScalar(waitSecondsRule, wait, 'waitSeconds'))).toEqual(['invalid_request', 'waitSeconds'])
  }
  expect(waitSecondsMax + 10).toBeLessThan(connectionIdleSecondsMax)
})

test('a query is by updatedAt, newest first, of all runs', () => {
  expect(parseRunQuery({})).toEqual({
    status: undefined,
    range: undefined,
    select: 'data',
    limit: 100,
    ascending: false,
    cursor: undefined,
  })
  expect(parseRunQuery({ limit: 5_000, cursor: null })).toMatchObject({ limit: 1_000, cursor: undefined })
  expect(parseRunQuery({ select: 'count' })).toMatchObject({ limit: 10_000 })
  expect(parseRunQuery({ select: 'count', limit: 20_000 })).toMatchObject({ limit: 10_000 })
})

test('a query refuses each malformed field by its name', () => {
  for (const [query, code, field] of [
    [{ status: 'done' }, 'invalid_request', 'status'],
    [{ status: null }, 'invalid_request', 'status'],
    [{ status: ['queued'] }, 'invalid_request', 'status'],
    [{ select: 'keys' }, 'invalid_request', 'select'],
    [{ limit: 0 }, 'invalid_request', 'limit'],
    [{ ascending: 'yes' }, 'invalid_request', 'ascending'],
    [{ hash: 'a' }, 'invalid_request', 'hash'],
    [{ index: 't' }, 'invalid_request', 'index'],
    [{ range: { beginsWith: 'a' } }, 'invalid_range', 'range.beginsWith'],
    [{ range: { gte: 2, lt: 1 } }, 'invalid_range', 'range'],
  ] as const) {
    expect(refused(() => parseRunQuery(query))).toEqual([code, field])
  }
})

test('a cursor belongs to its task, status, range and direction', () => {
  const seal = new CursorSeal([new TextSeal(Buffer.alloc(32, 1), 'cursor')], false)
  const queryOf = (more: object) => parseRunQuery({ status: 'failed', range: { gte: 5 }, ...more })
  const { whole, fingerprint } = planRunQuery(queryOf({}), 7, seal)
  const cursor = encodeScanCursor(seal, 7, whole, { range: 9, id: 3 }, fingerprint)
  expect(planRunQuery(queryOf({ cursor, limit: 3 }), 7, seal).page).toMatchObject({ low: 5, high: 9, highId: 3 })
  for (const [more, task] of [
    [{}, 8],
    [{ status: 'queued' }, 7],
    [{ status: undefined }, 7],
    [{ range: { gte: 6 } }, 7],
    [{ ascending: true }, 7],
  ] as const) {
    expect(refused(() => planRunQuery(queryOf({ ...more, cursor }), task, seal))).toEqual(['invalid_cursor', 'cursor'])
  }
})
