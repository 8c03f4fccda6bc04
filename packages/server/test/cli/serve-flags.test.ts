import { expect, test } from 'bun:test'
import { parseArguments, UsageError } from '../../src/cli/arguments.ts'
import { parsePublicUrl } from '../../src/cli/serve-flags.ts'
import { sameStoreFlags, storeFlags } from '../../src/cli/target/store.ts'
import { runCubby } from '../harness.ts'

test('an address is taken without the slashes at its end, with its path', () => {
  for (const [text, taken] of [
    [undefined, undefined],
    ['https://cubby.example.com', 'https://cubby.example.com'],
    ['https://cubby.example.com/', 'https://cubby.example.com'],
    ['HTTP://Cubby.Example.com:80/', 'http://cubby.example.com'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['https://example.com/a/b//', 'https://example.com/a/b'],
    ['https://example.com/a b"<', 'https://example.com/a%20b%22%3C'],
  ] as const) {
    expect([text, parsePublicUrl(text)]).toEqual([text, taken])
  }
})

test('a path with an empty segment is refused: a redirect to //evil/docs would lead to another host', () => {
  for (const text of ['https://example.com//evil', 'https://example.com/\\evil', 'https://example.com/a//b']) {
    expect(() => parsePublicUrl(text)).toThrow(UsageError)
  }
})

test('a password in an address that is refused is not repeated', () => {
  expect(() => parsePublicUrl('https://me:hunter2@cubby.example.com')).toThrow(UsageError)
  expect(() => parsePublicUrl('https://me:hunter2@cubby.example.com')).not.toThrow('hunter2')
})

test('the flags for the same store: those of the command line, quoted, without a password', () => {
  const flagsFor = (words: string[], env = {}) => sameStoreFlags(parseArguments({ flags: storeFlags }, words, env))
  expect(flagsFor([])).toBe('')
  expect(flagsFor([], { CUBBY_STORE: 'postgres://me:hunter2@h/db', CUBBY_DATA: '/d' })).toBe('')
  expect(flagsFor(['--data', '/var/lib/cubby'])).toBe('--data /var/lib/cubby')
  expect(flagsFor(['--data', "my 'data'; rm x"])).toBe(`--data 'my '\\''data'\\''; rm x'`)
  const store = 'postgres://me:hunter2@h/db?sslmode=verify-full&password=hunter3'
  expect(flagsFor(['--store', store, '--data', '/d'])).toBe(
    "--store 'postgres://me:PASSWORD@h/db?sslmode=verify-full&password=PASSWORD'",
  )
  expect(flagsFor(['--store', 'postgres://h/db'])).toBe('--store postgres://h/db')
})

test('--push-allow that is not a list of networks is wrong usage, also from the environment', async () => {
  for (const text of ['10.0.0.0/33', 'example.com', '010.0.0.0/8', '10.0.0.0/8,']) {
    const flag = await runCubby(['serve', '--port', '0', '--push-allow', text])
    expect({ text, exitCode: flag.exitCode, stdout: flag.stdout }).toEqual({ text, exitCode: 2, stdout: '' })
    expect(flag.stderr).toContain('--push-allow')
  }
  const variable = await runCubby(['serve', '--port', '0'], { env: { CUBBY_PUSH_ALLOW: 'everywhere' } })
  expect(variable.exitCode).toBe(2)
}, 120_000)
