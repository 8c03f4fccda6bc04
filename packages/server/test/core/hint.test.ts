import { expect, test } from 'bun:test'
import { CubbyError } from '../../src/core/errors.ts'
import { call } from '../../src/core/hint.ts'
import { httpHint, shellHint } from '../../src/http/hint-text.ts'
import { routedOperations } from '../../src/operations/catalogue.ts'
import { pathNames } from '../../src/operations/parse-input.ts'

test.each(routedOperations.map(({ id }) => id))('a call of %s is written for HTTP and for the shell', (id) => {
  const { route, command } = routedOperations.find((operation) => operation.id === id)!
  const input = Object.fromEntries(pathNames(route!.path).map((member, i) => [member, `n${i}`]))
  expect(httpHint(['See ', call(id, input)])).toStartWith(`See ${route!.method} /`)
  const [first = id] = command?.split(' {') ?? []
  expect(shellHint(['See ', call(id, input)])).toStartWith(command === undefined ? `See ${id}` : `See cubby ${first}`)
})

test('text without a call stays as it is', () => {
  for (const text of ['Leave range out.', 'Wrap it: { "value": … }.', 'Known fields: a, b.', 'Use POST.']) {
    expect([httpHint(text), shellHint(text)]).toEqual([text, text])
  }
})

test('names in the path of the request are those of a call that names none', () => {
  const names = { db: 'app', table: 'orders' }
  expect(shellHint([call('listTables', { deleted: true })], names)).toBe('cubby table list --db app --deleted')
  expect(shellHint([call('listTables', { db: 'other' })], names)).toBe('cubby table list --db other')
  expect(shellHint(['Restore with ', { send: { deletedAt: 7 } }, '.'], names)).toBe('Restore with --deleted-at 7.')
})

test('a value that a shell could read as something else is in no command', () => {
  for (const db of ['x;rm -rf ~', '$(id)', ';id', '\u001b[31m', 'a b', '`id`', "it's"]) {
    const said = shellHint(['See ', call('listTables', { db })])!
    expect([said, said.includes('cubby')]).toEqual([`See GET /v1/${encodeURIComponent(db)}`, false])
  }
  const file = { db: 'app', bucket: 'pictures', name: 'a b$(id)' }
  expect(shellHint([call('deleteFile', file)])).toBe('cubby files rm pictures NAME --db app')
  expect(shellHint([call('deleteFile', { ...file, name: 'a/b.png' })])).toBe('cubby files rm pictures a/b.png --db app')
})

test('an API key in any part of a hint is masked', () => {
  const key = `svc_live_${'x'.repeat(38)}`
  const hint = [`Not ${key}: `, call('revokeApiKey', { id: key })]
  expect(httpHint(new CubbyError('internal', '', { hint }).hint)).toBe(
    'Not svc_live_****: DELETE /api/keys/svc_live_****',
  )
})
