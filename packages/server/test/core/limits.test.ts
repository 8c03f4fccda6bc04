import { describe, expect, test } from 'bun:test'
import * as limits from '../../src/core/limits.ts'

/** The largest record in a body: both keys all of escapes, the longest data, and every other member. */
const largestRecordBytes =
  limits.dataBytesMax +
  2 * 6 * limits.keyBytesMax +
  '{"op":"put","hashKey":"","rangeKey":"","data":,"ttl":253402300799,"ifUpdatedAt":9007199254740991},'.length

describe('the bounds of the contract', () => {
  test('are those it states', () => {
    expect(limits.bodyBytesMax).toBe(1_048_576)
    expect(limits.batchBodyBytesMax).toBe(12 * 1_048_576)
    expect(limits.plainBodyBytesMax).toBe(65_536)
    expect(limits.keyBytesMax).toBe(1_024)
    expect(limits.indexStringBytesMax).toBe(1_024)
    expect(limits.indexFieldCharactersMax).toBe(255)
    expect(limits.dataBytesMax).toBe(409_600)
    expect(limits.dataDepthMax).toBe(64)
    expect(limits.batchOperationsMax).toBe(25)
    expect(limits.pageRowsDefault).toBe(100)
    expect(limits.pageRowsMax).toBe(1_000)
    expect(limits.countRowsMax).toBe(10_000)
    expect(limits.pageBytesMax).toBe(1_048_576)
    expect(limits.requestIdCharactersMax).toBe(128)
    expect(limits.keyNameCharactersMax).toBe(128)
    expect(limits.keyDatabasesMax).toBe(100)
  })

  test('ttl ends with the year 9999', () => {
    expect(limits.ttlSecondsMax * 1000).toBe(Date.parse('9999-12-31T23:59:59Z'))
  })

  test('a table is recoverable for 7 days; sweeps wait 5 minutes longer', () => {
    const [created, until] = [Date.parse('2026-01-01T00:00:00Z'), Date.parse('2026-01-08T00:00:00Z')]
    expect(created + limits.recoveryMs).toBe(until)
    expect(limits.sweepGraceMs).toBe(5 * 60 * 1000)
  })

  test('a stop takes at most 10 s, and lastUsedAt lags by less than a minute', () => {
    expect(limits.stopMsMax).toBeLessThanOrEqual(10_000)
    expect(limits.lastUsedFlushMs).toBeLessThan(60_000)
  })
})

describe('the bounds among themselves', () => {
  test('a put holds the largest record', () => {
    expect(largestRecordBytes).toBeLessThanOrEqual(limits.bodyBytesMax)
  })

  test('a batch body holds 25 records of the largest size', () => {
    expect(limits.batchOperationsMax * largestRecordBytes + '{"operations":[]}'.length).toBeLessThanOrEqual(
      limits.batchBodyBytesMax,
    )
  })

  test('a body without a record holds the largest query, declaration and key, all of it escapes', () => {
    // A byte of ASCII takes six characters as an escape; a character of four bytes takes twelve.
    const query = limits.cursorCharactersMax + 6 * limits.keyBytesMax + 2 * 6 * limits.indexStringBytesMax
    const declaration = 5 * 2 * 12 * limits.indexFieldCharactersMax
    const key = 12 * limits.keyNameCharactersMax + limits.keyDatabasesMax * (6 * 64 + '"",'.length)
    const rest = 1_000
    expect(Math.max(query, declaration, key) + rest).toBeLessThanOrEqual(limits.plainBodyBytesMax)
  })

  test('a page holds the largest data', () => {
    expect(limits.pageBytesMax).toBeGreaterThanOrEqual(limits.dataBytesMax)
  })

  test("an organization's half of the write queue holds a whole batch body", () => {
    expect(limits.writeQueueBytesMax / 2).toBeGreaterThanOrEqual(limits.batchBodyBytesMax)
    expect(limits.writeQueueRequestsMax / 2).toBeGreaterThanOrEqual(1)
  })

  test('the bodies in flight may be one of each kind, and more', () => {
    expect(limits.bodiesInFlightBytesMax).toBeGreaterThanOrEqual(limits.batchBodyBytesMax + limits.bodyBytesMax)
  })

  test('a commit holds the largest put', () => {
    expect(limits.commitBytesMax).toBeGreaterThanOrEqual(limits.bodyBytesMax)
    expect(limits.commitRequestsMax).toBeLessThanOrEqual(limits.writeQueueRequestsMax / 2)
  })

  test('the default page is within the largest', () => {
    expect(limits.pageRowsDefault).toBeLessThanOrEqual(limits.pageRowsMax)
  })

  test("an index entry is within PostgreSQL's B-tree: two values, the table and the id", () => {
    expect(2 * (1 + limits.indexStringBytesMax) + 64).toBeLessThan(2_700)
    expect(2 * limits.keyBytesMax + 64).toBeLessThan(2_700)
  })

  test('the longest cursor is within what is read', () => {
    // A value of 1,024 bytes takes at most six characters per byte in JSON, and base64 takes four for three.
    expect(Math.ceil((6 * (1 + limits.indexStringBytesMax) + 100) / 3) * 4).toBeLessThan(limits.cursorCharactersMax)
  })

  test('every one is a positive integer, and every instant a safe one', () => {
    for (const [name, value] of Object.entries(limits)) {
      expect([name, Number.isSafeInteger(value) && value > 0]).toEqual([name, true])
    }
    expect(Number.isSafeInteger(limits.ttlSecondsMax * 1000 + limits.sweepGraceMs)).toBe(true)
  })
})
