import { expect, test } from 'bun:test'
import { RunSizes } from '../../src/engines/sqlite/runs/runs.ts'

const run = (id: string, payload = '{}', taskId = 1) => ({ taskId, id, payload, result: null })

test('a size is counted in bytes, with the result of an earlier attempt', () => {
  const sizes = new RunSizes()
  sizes.note({ ...run('a', '"é"'), result: '"€"' })
  expect(sizes.get(1, 'a')).toBe(4 + 5)
})

test('a run that was not claimed here, or is finished, has no size', () => {
  const sizes = new RunSizes()
  sizes.note(run('a'))
  expect(sizes.get(2, 'a')).toBeUndefined()
  expect(sizes.get(1, 'b')).toBeUndefined()
  sizes.forget(1, 'a')
  expect(sizes.get(1, 'a')).toBeUndefined()
})

test('there is a limit, and all are read again when it is reached', () => {
  const sizes = new RunSizes(2)
  sizes.note(run('a'))
  sizes.note(run('b'))
  sizes.note(run('c'))
  expect(sizes.size).toBe(1)
  expect(sizes.get(1, 'a')).toBeUndefined()
  expect(sizes.get(1, 'c')).toBe(2)
})
