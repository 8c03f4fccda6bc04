import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { CubbyError } from '../../../server/src/core/errors.ts'
import { ttlSecondsMax } from '../../../server/src/core/limits.ts'
import { indexEntries, slots } from '../../../server/src/core/tables/indices.ts'
import { shownDiff } from '../../src/screens/record/diff-view.ts'
import { indexFields, placementOf, placementWords } from '../../src/screens/record/placement.ts'
import { fitsInput, keyFault, normalKey, showKey } from '../../src/screens/record/record-key.ts'
import { readTtl, showTtl } from '../../src/screens/record/ttl.ts'
import { changedSince, memberDiffs, mergeMembers } from '../../src/text/member-diff.ts'

const objects = fc
  .dictionary(fc.constantFrom('a', 'b', '', 'x.y', '"'), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 })
  .map((object) => JSON.stringify(object))

describe('a ttl as people type it', () => {
  const nowMs = Date.parse('2026-11-16T12:00:00Z')
  const secondsOf = (typed: string): number | undefined => {
    const ttl = readTtl(typed, nowMs)
    return ttl.fault === undefined ? ttl.seconds : undefined
  }

  test('epoch seconds, a date-time, a time from now, or nothing', () => {
    expect(secondsOf('1800000000')).toBe(1_800_000_000)
    expect(secondsOf('2027-01-15T08:00:00Z')).toBe(1_800_000_000)
    expect(secondsOf('2027-01-15T09:00:00+01:00')).toBe(1_800_000_000)
    expect(secondsOf('in 30 days')).toBe(nowMs / 1000 + 30 * 86_400)
    expect(secondsOf('1 hour')).toBe(nowMs / 1000 + 3_600)
    expect(readTtl(' ', nowMs)).toEqual({ seconds: undefined })
  })

  test('what is shown is read back as the same second', () => {
    for (const seconds of [0, 1, 1_800_000_001, ttlSecondsMax]) expect(secondsOf(showTtl(seconds))).toBe(seconds)
    expect(showTtl(undefined)).toBe('')
  })

  test('faults say what to give', () => {
    expect(readTtl('1800000000000', nowMs).fault).toContain('in seconds it is 1800000000')
    expect(readTtl('tomorrow', nowMs).fault).toContain('epoch seconds')
    expect(readTtl('2027-02-30T00:00:00Z', nowMs).fault).toContain('date-time')
    expect(readTtl('in 900000 years', nowMs).fault).toBeDefined()
  })
})

describe('the indices that a record will be in', () => {
  const indices = { i1: { hashField: 'status', rangeField: 'at' }, i3: { hashField: 'user' } }

  test('sparse, and the last of duplicates counts', () => {
    expect(placementOf('{"status":"open","at":1,"user":true}', indices)).toEqual({ slots: ['i1', 'i3'] })
    expect(placementOf('{"status":"open"}', indices)).toEqual({ slots: [] })
    expect(placementOf('{"user":null,"user":"ada"}', indices)).toEqual({ slots: ['i3'] })
    expect(placementWords(['i1', 'i2', 'i3'], indices)).toBe('in i1, i2 and i3')
    expect(placementWords(['i1'], indices)).toBe('in i1')
    expect(placementWords([], indices)).toBe('in no index')
    expect(placementWords([], {})).toBe('')
    expect(indexFields(indices)).toEqual(['status', 'at', 'user'])
  })

  // The rule is written twice: that of the server needs Buffer, and knows no lines and columns.
  test('are those that the server puts it in, and it refuses the same records', () => {
    const onServer = (text: string): string[] | 'refused' => {
      try {
        const entries = indexEntries(indices, JSON.parse(text))
        return slots.filter((_, i) => entries[2 * i] !== null)
      } catch (error) {
        if (!(error instanceof CubbyError)) throw error
        return 'refused'
      }
    }
    const long = [1_023, 1_024, 1_025].flatMap((length) => ['x'.repeat(length), `${'x'.repeat(length - 2)}ü`])
    const value = fc.oneof(
      fc.constantFrom('1', '-0', '1e308', '1e309', '-1e999', 'true', 'false', 'null', '[]', '{"a":1}', '""'),
      fc.constantFrom('"\\ud800"', '"\\ud83d\\ude00"', '"2026-02-30T00:00:00Z"', ...long.map((text) => `"${text}"`)),
    )
    const member = fc.tuple(fc.constantFrom('status', 'at', 'user', '\\u0061t', 'other'), value)
    fc.assert(
      fc.property(fc.array(member, { maxLength: 5 }), (members) => {
        const text = `{ ${members.map(([name, json]) => `"${name}" : ${json}`).join(' , ')} }`
        const placed = placementOf(text, indices)
        expect('slots' in placed ? placed.slots : 'refused').toEqual(onServer(text))
      }),
      { numRuns: 500 },
    )
  })

  test('a value that no index takes is a fault with its place', () => {
    for (const [value, words] of [
      ['null', 'null'],
      ['[1]', 'an array'],
      ['{}', 'an object'],
      ['1e400', 'overflows'],
      [`"${'ü'.repeat(513)}"`, '1,024 bytes'],
      ['"\\ud800"', 'surrogate'],
    ]) {
      const { fault } = placementOf(`{\n  "user": ${value}\n}`, indices) as {
        fault: { line: number; column: number; message: string }
      }
      expect(fault).toMatchObject({ line: 2, column: 11 })
      expect(fault.message).toContain(words!)
      expect(fault.message).toContain('i3')
    }
  })
})

describe('record keys', () => {
  test('characters that cannot be seen are shown as escapes', () => {
    expect(showKey('ord_1/🦊 ä')).toBe('ord_1/🦊 ä')
    expect(showKey('a\nb\0\u202e"')).toBe('"a\\nb\\u0000\\u202e\\""')
    expect(showKey(' a')).toBe('" a"')
    expect(showKey('a ')).toBe('"a "')
    expect(fitsInput('a\nb')).toBe(false)
    expect(fitsInput('a b')).toBe(true)
  })

  test('"#" and empty are no range key', () => {
    expect(normalKey({ hashKey: 'a', rangeKey: '#' })).toEqual({ hashKey: 'a' })
    expect(normalKey({ hashKey: 'a', rangeKey: '' })).toEqual({ hashKey: 'a' })
    expect(normalKey({ hashKey: 'a', rangeKey: 'b' })).toEqual({ hashKey: 'a', rangeKey: 'b' })
  })

  test('what the server would not take', () => {
    expect(keyFault('ü'.repeat(512), 'The key')).toBeUndefined()
    expect(keyFault('ü'.repeat(513), 'The key')).toContain('1026 bytes')
    for (const key of ['', '.', '..', '\ud800']) expect(keyFault(key, 'The key')).toBeDefined()
  })
})

describe('mine and the stored text', () => {
  test('equal lines far from a change are left out and counted', () => {
    const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`)
    const { rows, changes, hidden } = shownDiff(lines.join('\n'), lines.with(50, 'other').join('\n'))
    expect(changes).toBe(1)
    expect(hidden).toBe(0)
    expect(rows.map(({ equal }) => equal).filter((count) => count !== undefined)).toEqual([47, 46])
    expect(rows).toHaveLength(9)
  })

  test('records of one line are compared formatted, and what differs in a line is marked', () => {
    const mine =
      '{"status":"open","n":1,"address":{"city":"Rome","zip":"00100","street":"Via Appia 1","note":"' +
      'x'.repeat(40) +
      '"}}'
    const { rows, changes } = shownDiff(mine, mine.replace('Rome', 'Oslo').replace('"n":1', '"n": 10'))
    expect(changes).toBe(2)
    const marked = rows
      .filter(({ same }) => !same)
      .map(({ left, right, leftMark, rightMark }) => [left!.slice(...leftMark!), right!.slice(...rightMark!)])
    expect(marked).toEqual([
      ['1', '10'],
      ['"Rome"', '"Oslo"'],
    ])
  })

  test('a line that only gets a comma, because a member follows it, is no difference', () => {
    const long = 'x'.repeat(60)
    const { rows } = shownDiff(`{"a":"${long}"}`, `{"a":"${long}","b":2}`)
    expect(rows.filter(({ same }) => !same).map(({ left, right }) => [left, right])).toEqual([[undefined, '  "b": 2']])
  })

  test('the members that differ are named by their paths', () => {
    const mine = '{"a":1,"b":{"c":[1],"d":"x"},"e":true,"dup":1,"dup":2,"old":0}'
    const stored = '{"e" : true, "b":{"d":"y","c":[1, 2]},"a":1.0,"dup":1,"dup":3,"a b":null}'
    expect(memberDiffs(mine, stored)).toEqual([
      { path: 'a', mine: '1', stored: '1.0' },
      { path: 'b.c', mine: '[1]', stored: '[1, 2]' },
      { path: 'b.d', mine: '"x"', stored: '"y"' },
      { path: 'dup', mine: '2', stored: '3' },
      { path: 'old', mine: '0', stored: undefined },
      { path: '"a b"', mine: undefined, stored: 'null' },
    ])
    expect(memberDiffs(mine, mine)).toEqual([])
    expect(memberDiffs('{"a":1,"b":[ ]}', '{ "b" : [],"a":1 }')).toEqual([])
  })

  // The risk: taking one value of somebody else changes, rounds or drops another one.
  test('members are taken one by one, and the text of the others stays as it is', () => {
    const mine = '{"n":12345678901234567890,"\\u0041":1.0,"b":{"c":1e400,"d":"x"},"old":0,"dup":1,"dup":2}'
    const stored = '{"n":5,"b":{"d":"y","c":2},"new":{"x": 0.10},"\\u0041":1.0,"dup":1,"dup":3}'
    const merge = (...taken: string[]) => mergeMembers(mine, stored, new Set(taken))
    expect(merge()).toBe(mine)
    expect(merge('b.d')).toBe(mine.replace('"x"', '"y"'))
    expect(merge('old')).toBe(mine.replace('"old":0,', ''))
    expect(merge('new')).toBe(mine.replace('"dup":2}', '"dup":2,"new":{"x": 0.10}}'))
    expect(merge('dup', 'n')).toBe(mine.replace('12345678901234567890', '5').replace('"dup":2', '"dup":3'))
    const base = '{"n":12345678901234567890,"\\u0041":1.0,"b":{"c":1e400,"d":"y"},"old":0,"dup":1,"dup":2}'
    const all = memberDiffs(mine, stored)
    expect([...changedSince(base, mine, all)]).toEqual(['b.d'])
    expect([...changedSince(base, stored, all)]).toEqual(['n', 'b.c', 'old', 'dup', 'new'])
    fc.assert(
      fc.property(objects, objects, (a, b) => {
        const paths = memberDiffs(a, b).map(({ path }) => path)
        expect(mergeMembers(a, b, new Set())).toBe(a)
        expect(memberDiffs(mergeMembers(a, b, new Set(paths)), b)).toEqual([])
      }),
    )
  })

  test('of one long line the part with the difference is shown', () => {
    const long = 'x'.repeat(200_000)
    const { rows } = shownDiff(`${long}MINE${long}`, `${long}THEIRS${long}`)
    expect(rows).toHaveLength(1)
    expect(rows[0]!.left).toContain('MINE')
    expect(rows[0]!.right).toContain('THEIRS')
    expect(rows[0]!.left!.length).toBeLessThan(500)
  })

  test('what is drawn is bounded', () => {
    const text = (word: string) => Array.from({ length: 30_000 }, (_, i) => `${word} ${i}`).join('\n')
    const { rows, hidden } = shownDiff(text('mine'), text('theirs'))
    expect(rows).toHaveLength(1_000)
    expect(hidden).toBe(29_000)
  })
})
