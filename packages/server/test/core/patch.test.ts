import { describe, expect, test } from 'bun:test'
import { applyPatch, parsePatchMembers } from '../../src/core/records/patch.ts'
import { PatchDocuments } from './patch-documents.ts'
import { type ModelArray, type ModelObject, modelMerge, modelPlace, writeNode } from './patch-model.ts'
import { refusal, refused } from './refusal.ts'

interface Texts {
  merge?: string
  increment?: string
  append?: string
}

/** Parses and applies. The patch crosses a thread as JSON in between. */
const patched = (data: string, texts: Texts, prefix = ''): string =>
  applyPatch(data, JSON.parse(JSON.stringify(parsePatchMembers(texts, prefix))), prefix)

const merged = (data: string, merge: string): string => patched(data, { merge })
const incremented = (data: string, increment: string): string => patched(data, { increment })
const appended = (data: string, append: string): string => patched(data, { append })

/** A run with its own seed each time; a failure prints it. */
const forEachDocument = (count: number, check: (documents: PatchDocuments) => void): void => {
  const start = Number(process.env.PATCH_SEED ?? Date.now() % 1_000_000_000)
  for (let i = 0; i < count; i++) {
    try {
      check(new PatchDocuments(start + i))
    } catch (error) {
      throw new Error(`PATCH_SEED=${start + i}: ${error}`)
    }
  }
}

/** A naive reader: objects are maps, in which the last of two members counts, and numbers stay texts. */
const readValue = (text: string): unknown => {
  let at = 0
  const skip = () => {
    while (at < text.length && ' \n\r\t'.includes(text[at]!)) at++
  }
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found === null) throw new Error(`not JSON at ${at}: ${text}`)
    at += found[0].length
    return found[0]
  }
  const read = (): unknown => {
    skip()
    if (text[at] === '"') return JSON.parse(take(/"(?:[^"\\]|\\.)*"/y))
    if (text[at] === '[' || text[at] === '{') {
      const isArray = text[at] === '['
      const values: unknown[] = []
      const members = new Map<unknown, unknown>()
      at++
      skip()
      for (let first = true; text[at] !== ']' && text[at] !== '}'; first = false) {
        if (!first) take(/,/y)
        const value = read()
        skip()
        if (isArray) {
          values.push(value)
          continue
        }
        take(/:/y)
        members.set(value, read())
        skip()
      }
      at++
      return isArray ? values : members
    }
    const word = take(/[-+.0-9a-zA-Z]+/y)
    return word === 'null' ? null : { word }
  }
  const value = read()
  skip()
  if (at < text.length) throw new Error(`not JSON at ${at}: ${text}`)
  return value
}

/** RFC 7396, as its pseudo code has it. */
const mergeValues = (target: unknown, patch: unknown): unknown => {
  if (!(patch instanceof Map)) return patch
  const result = target instanceof Map ? target : new Map()
  for (const [name, value] of patch) {
    if (value === null) result.delete(name)
    else result.set(name, mergeValues(result.get(name), value))
  }
  return result
}

/** Order of members does not matter here. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!(value instanceof Map)) return value
  return [...value].map(([name, member]) => [JSON.stringify(name), sorted(member)]).sort()
}

describe('any merge', () => {
  test('has the value that the pseudo code of RFC 7396 makes', () => {
    forEachDocument(5_000, (documents) => {
      const data = writeNode(documents.object(3, true))
      const patch = writeNode(documents.object(3, false))
      const result = merged(data, patch)
      JSON.parse(result)
      const expected = JSON.stringify(sorted(mergeValues(readValue(data), readValue(patch))))
      if (JSON.stringify(sorted(readValue(result))) !== expected) expect([data, patch, result]).toEqual([data, patch, expected])
    })
  })

  test('leaves what it does not name byte for byte, and removes and adds by the rules for white space', () => {
    forEachDocument(8_000, (documents) => {
      const data = documents.object(3, true)
      const patch = documents.object(3, false)
      const text = writeNode(data)
      const result = merged(text, writeNode(patch))
      modelMerge(data, patch)
      if (result !== writeNode(data)) expect([text, writeNode(patch), result]).toEqual([text, writeNode(patch), writeNode(data)])
    })
  })
})

const pointerOf = (path: string[]): string =>
  path.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const isBelowOrSame = (path: string[], other: string[]): boolean => other.every((token, i) => path[i] === token)

describe('any patch', () => {
  test('does what one change after another would do, or has the error of the first that fails', () => {
    const outcomes = { done: 0, not_a_number: 0, not_an_array: 0, precondition_failed: 0 }
    forEachDocument(10_000, (documents) => {
      const data = documents.object(3, true)
      const text = writeNode(data)
      const merge = documents.below(3) === 0 ? documents.object(2, false) : undefined
      const mergeText = merge && writeNode(merge)
      if (merge !== undefined) modelMerge(data, merge)
      const paths: string[][] = []
      for (let left = documents.below(5); left >= 0; left--) {
        const path = documents.path(data)
        if (!paths.some((other) => isBelowOrSame(path, other) || isBelowOrSame(other, path))) paths.push(path)
      }
      const split = documents.below(paths.length + 1)
      const increments = paths.slice(0, split).map((path) => {
        const bounds = documents.below(3) === 0 ? { min: small(documents), max: small(documents) } : {}
        return { path, by: small(documents), ...bounds }
      })
      const appends: { path: string[]; values: ModelArray }[] = paths
        .slice(split)
        .map((path) => ({ path, values: documents.array(1) }))
      const name = (path: string[]) => JSON.stringify(pointerOf(path))
      const texts: Texts = { merge: mergeText }
      if (increments.length > 0) {
        const members = increments.map((one) => {
          const value = one.min === undefined ? one.by : `{"min":${one.min}, "by" : ${one.by} ,"max":${one.max}}`
          return `${name(one.path)} : ${value}`
        })
        texts.increment = `{ ${members.join(' , ')} }`
      }
      if (appends.length > 0) {
        texts.append = `{${appends.map(({ path, values }) => `${name(path)}:${writeNode(values)}`).join(',')}}`
      }

      let failure: [string, string] | undefined
      for (const { path, ...increment } of increments) {
        const code = modelPlace(data, path, { increment })
        if (code !== undefined) failure ??= [code, `increment[${JSON.stringify(pointerOf(path).toWellFormed())}]`]
        if (failure !== undefined) break
      }
      for (const { path, values } of appends) {
        if (failure !== undefined) break
        const code = modelPlace(data, path, { append: values })
        if (code !== undefined) failure = [code, `append[${JSON.stringify(pointerOf(path).toWellFormed())}]`]
      }
      if (failure !== undefined) {
        outcomes[failure[0] as keyof typeof outcomes]++
        const found = refused(() => patched(text, texts))
        if (found.join() !== failure.join()) expect([text, texts, ...found]).toEqual([text, texts, ...failure])
        return
      }
      outcomes.done++
      const result = patched(text, texts)
      JSON.parse(result)
      if (result !== writeNode(data)) expect([text, texts, result]).toEqual([text, texts, writeNode(data)])
    })
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(100)
  })
})

/** An operand that is allowed. */
const small = (documents: PatchDocuments): string =>
  documents.pick(['1', '-1', '0', '0.1', '-0', '1e3', '-2.50', '1e-308', '9e307', '12345678901234567890123456789012345678'])
export type { ModelObject }
void refusal
void incremented
void appended
