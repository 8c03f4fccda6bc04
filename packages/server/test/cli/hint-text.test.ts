import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorLine } from '../../src/cli/hint-text.ts'
import { commands } from '../../src/cli/run.ts'
import { CubbyError, type ErrorCode } from '../../src/core/errors.ts'
import { call } from '../../src/core/hint.ts'
import { shellHint } from '../../src/http/hint-text.ts'
import { catalogue, findOperation, operations } from '../../src/operations/catalogue.ts'
import type { AnyOperation } from '../../src/operations/operation.ts'

// A command gets most of its errors from a server, whose hints are for callers of HTTP.

const ofHttp = /\/v1\b|\/api\b|\b(?:GET|PUT|POST|DELETE|PATCH)\b|Retry-After|Authorization|header/

/** No command causes these: they concern parts of a request that commands do not send. */
const notFromCommands: ErrorCode[] = ['secret_key_in_browser', 'unsupported_media_type']

test('no hint of an example reaches the shell in words of HTTP', () => {
  const errors = Object.values(catalogue()).flatMap(({ examples }) => examples.flatMap(({ error }) => error ?? []))
  expect(errors.filter(({ hint }) => Array.isArray(hint)).length).toBeGreaterThan(10)
  const lines = errors
    .filter(({ code }) => !notFromCommands.includes(code))
    .map(({ code, message, hint }) => errorLine(new CubbyError(code, message, { hint: shellHint(hint) })))
  expect(lines.filter((line) => ofHttp.test(line))).toEqual([])
})

test('what is not known of a call is named as in the help; flags are there only if they are meant', () => {
  const said = (...hint: (string | ReturnType<typeof call>)[]) => errorLine(new CubbyError('internal', 'No.', { hint }))
  expect(said('See ', call('listTables'), '.')).toBe('No. See cubby table list --db DB.')
  expect(said(call('listTables', { db: 'app', deleted: true }))).toBe('No. cubby table list --db app --deleted')
  expect(said(call('restoreTable', { db: 'app', table: 't', deletedAt: 7 }))).toBe(
    'No. cubby table restore t --db app --deleted-at 7',
  )
  expect(said(call('getRecord', { db: 'app', table: 't', hashKey: 'a' }))).toBe('No. cubby get a --db app --table t')
  expect(said(call('restoreTask', { db: 'app', task: 'mail' }))).toBe('No. cubby tasks restore mail --db app')
  expect(said(call('retryRun', { db: 'app', task: 'mail', run: 'a' }))).toBe('No. cubby tasks retry mail a --db app')
  expect(said(call('keepChanges', { db: 'app', table: 't', keepHours: 24 }))).toBe(
    'No. cubby table changes t --db app --keep 24h',
  )
  expect(said(call('queryRuns', { db: 'app', task: 'mail' }))).toBe('No. cubby tasks runs mail --db app')
})

test('every operation that some hint suggests has a route and a command', () => {
  const source = join(import.meta.dir, '../../src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  // The samples of the docs page have a function of the same name.
  const hinting = files.filter((name) => !name.startsWith('openapi/samples/'))
  const text = hinting.map((name) => readFileSync(join(source, name), 'utf8')).join('\n')
  const suggested = [...new Set(Array.from(text.matchAll(/\bcall\('(\w+)'/g), ([, id]) => id!))]
  expect(suggested.length).toBeGreaterThan(4)
  expect(
    suggested.filter((id) => {
      const { route, command } = findOperation(id) ?? {}
      return route === undefined || command === undefined
    }),
  ).toEqual([])
})

test('the commands that hints name are there, with their flags', () => {
  for (const { id, command: template } of operations as readonly AnyOperation[]) {
    if (template === undefined) continue
    const command = commands.find(({ name }) => `${template} `.startsWith(`${name} `))!
    const flags = Array.from(template.matchAll(/--([a-z-]+)/g), ([, flag]) => flag!)
    expect([id, ...flags.filter((flag) => command.flags[flag] === undefined)]).toEqual([id])
  }
})
