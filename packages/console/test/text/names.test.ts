import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { CubbyError } from '../../../server/src/core/errors.ts'
import { parseName } from '../../../server/src/core/names.ts'
import { nameFault } from '../../src/text/names.ts'

/** What the server says of it, message and hint. */
const serverFault = (name: string, what: string): string | undefined => {
  try {
    parseName(name, what)
    return undefined
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    return `${error.message} ${error.hint}`
  }
}

test('a name is refused exactly when the server refuses it, in its words', () => {
  const golden = ['', 'a', 'orders', '_', '_a', '__proto__', 'App/Order Items', 'a.b', 'é', '-', 'a\n', '\ud800', 'x y']
  const lengths = [63, 64, 65, 79, 80, 81, 500].flatMap((length) => [
    'a'.repeat(length),
    'A'.repeat(length),
    'ab'.padStart(length, '/'),
  ])
  for (const name of [...golden, ...lengths]) {
    expect(nameFault(name, 'table')).toBe(serverFault(name, 'table')!)
  }
  const unit = fc.constantFrom(...'abz09_-AZ /.é\n"\\', '\u{1f600}')
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit, maxLength: 8 }), fc.string({ maxLength: 90 })), (name) => {
      expect(nameFault(name, 'db')).toBe(serverFault(name, 'db')!)
    }),
    { numRuns: 500 },
  )
})

test('the words stand by themselves', () => {
  expect(nameFault('Orders')).toBe(
    'The name is "Orders"; a name matches [a-z0-9_-]{1,64}. Use 1 to 64 lower-case letters, digits, "_" or "-", for example "orders".',
  )
  expect(nameFault('orders')).toBeUndefined()
})
