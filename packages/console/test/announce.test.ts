import { afterEach, expect, setSystemTime, test } from 'bun:test'
import { announce, polite } from '../src/ui/announce.ts'

afterEach(() => {
  setSystemTime()
})

test('a text is said beside the ones just before it, and replaces older ones', () => {
  const texts = () => polite.value.map(({ text }) => text)
  setSystemTime(1_000)
  announce('Saved')
  setSystemTime(5_999)
  announce('1 record')
  expect(texts()).toEqual(['Saved', '1 record'])
  setSystemTime(6_000)
  announce('Copied')
  expect(texts()).toEqual(['1 record', 'Copied'])
  // The same text again is a new element, so it is said again.
  announce('Copied')
  expect(new Set(polite.value.map(({ id }) => id)).size).toBe(3)
})
