import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { CubbyError } from '../../src/core/errors.ts'
import { call, type Hint, type HintPart } from '../../src/core/hint.ts'
import { httpHint, readHttpHint } from '../../src/http/hint-text.ts'
import { operationRoutes } from '../../src/http/routes/operation-routes.ts'
import { pathParameters } from '../../src/http/routes/route.ts'

const name = fc.stringMatching(/^[a-z0-9-][a-z0-9-]{0,8}$/)

/** A call whose path has all or none of its parameters. */
const suggestedCall = fc
  .tuple(
    fc.constantFrom(...Object.values(operationRoutes)),
    fc.array(name, { minLength: 4, maxLength: 4 }),
    fc.boolean(),
  )
  .map(([{ operation, paths }, names, known]): HintPart => {
    const members = pathParameters(paths[0]!).map((member, i) => [member, names[i]!])
    return call(operation.id, known ? Object.fromEntries(members) : {})
  })
const suggested = fc.oneof(
  suggestedCall,
  fc.nat().map((deletedAt): HintPart => ({ send: { deletedAt } })),
  fc.constantFrom<HintPart>({ repeat: 'later' }, { give: 'rangeKey' }),
)
const words = fc.constantFrom('. See ', '; or ', ', then ', ' (', ') until 2026-01-09T00:00:00.000Z: ')

test('a hint that HTTP wrote is read back with the same calls in it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(words, suggested), { minLength: 1, maxLength: 4 }), (pairs) => {
      const hint: Hint = pairs.flat()
      expect(readHttpHint(httpHint(hint)!)).toEqual(hint)
    }),
  )
})

test.each(Object.values(operationRoutes).map(({ operation }) => operation.id))(
  'a call of %s is read back, with its names and without',
  (operation) => {
    const [path] = Object.values(operationRoutes).find((route) => route.operation.id === operation)!.paths
    const input = Object.fromEntries(pathParameters(path!).map((member, i) => [member, `n${i}`]))
    for (const given of [input, {}]) {
      const hint: Hint = ['See ', call(operation, given)]
      expect(readHttpHint(httpHint(hint)!)).toEqual(hint)
    }
  },
)

test('text without a call stays as it is', () => {
  for (const text of ['Leave range out.', 'Wrap it: { "value": … }.', 'Known fields: a, b.', 'Use POST.']) {
    expect([httpHint(text), readHttpHint(text)]).toEqual([text, text])
  }
})

test('a call with a value that is no name stays as it was written', () => {
  for (const text of [
    'See GET /v1/a%zz',
    'Create it: POST /v1/x%3Brm%20-rf%20~/y',
    'Create it: POST /v1/$(id)/y',
    'See GET /v1/app?deleted=%3Bid',
    'See GET /v1/%1b%5B31m',
  ]) {
    expect(httpHint(readHttpHint(text))).toBe(text)
    expect([readHttpHint(text)].flat().every((part) => typeof part === 'string')).toBe(true)
  }
})

test('an API key in any part of a hint is masked', () => {
  const key = `svc_live_${'x'.repeat(38)}`
  const hint = [`Not ${key}: `, call('revokeApiKey', { id: key })]
  expect(httpHint(new CubbyError('internal', '', { hint }).hint)).toBe(
    'Not svc_live_****: DELETE /api/keys/svc_live_****',
  )
})
