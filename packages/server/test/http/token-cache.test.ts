import { expect, test } from 'bun:test'
import { tokenCacheBytesMax } from '../../src/core/limits.ts'
import { type FoundToken, openedTokens } from '../../src/http/user-tokens.ts'

// Tokens have up to 4 kB, and every user has one: bounded in entries alone, those that were opened would fill the memory.

const make = (n: number, characters: number): [header: string, token: FoundToken] => {
  const text = `svc_user_${String(n).padStart(20, '0').padEnd(characters, 'x')}`
  return [`Bearer ${text}`, { text } as FoundToken]
}

const keptOf = (tokens: readonly [string, FoundToken][]): number =>
  tokens.filter(([header, token]) => openedTokens.get(header) === token).length

test('of the tokens that were opened the newest are kept, as many as fit', () => {
  const large = Array.from({ length: 6_000 }, (_, n) => make(n, 4_000))
  for (const one of large) openedTokens.set(...one)
  const kept = keptOf(large)
  expect(kept).toBeGreaterThan(500)
  expect(kept * 4_000 * 2).toBeLessThan(tokenCacheBytesMax)
  expect(keptOf(large.slice(-kept))).toBe(kept)
  // One that is opened again takes no second place, and the place of small ones is given back too.
  for (let i = 0; i < 10_000; i++) openedTokens.set(...large.at(-1)!)
  expect(keptOf(large)).toBe(kept)
  const small = Array.from({ length: 20_000 }, (_, n) => make(n, 100))
  for (const one of [...small, ...large]) openedTokens.set(...one)
  expect(keptOf(small)).toBe(0)
  expect(keptOf(large)).toBe(kept)
})

test('a token is found by its whole header', () => {
  const [header, token] = make(1, 300)
  openedTokens.set(header, token)
  expect(openedTokens.get(header)).toBe(token)
  for (const other of [`${header}0`, header.slice(0, -1), `${header.slice(0, -1)}1`]) {
    expect(openedTokens.get(other)).toBeUndefined()
  }
  // A padded one is not kept: its padding would have to be bounded too.
  openedTokens.set(header.replace(' ', '   '), token)
  expect(openedTokens.get(header.replace(' ', '   '))).toBeUndefined()
})
