import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { buildConsole } from '../build.ts'

// The console takes rules from the server instead of repeating them, if a browser can run them.
const core = resolve(import.meta.dir, '../../server/src/core')
const client = resolve(import.meta.dir, '../../client/src')
const rules = [
  'api-keys/mask-api-keys.ts',
  'describe-value.ts',
  'errors.ts',
  'hint.ts',
  'limits.ts',
  'names.ts',
  'records/expiry.ts',
  'text/csv-records.ts',
  'text/iso-date-time.ts',
  'text/json-scan.ts',
  'text/printable.ts',
]

/** What it takes to follow a table. The rest of the client would make the page larger. */
const clientParts = [
  'changes/event-parser.ts',
  'changes/feed.ts',
  'changes/hub.ts',
  'changes/may-concern.ts',
  'changes/stream-place.ts',
  'changes/watch.ts',
  // Only what it exports of the others.
  'index.ts',
  'transport/errors.ts',
  'transport/iterator-of.ts',
  'transport/retry.ts',
  'worker/pause.ts',
  'worker/refusal.ts',
]

const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')

test('of the server and the client the console has these files and nothing else', async () => {
  const outDir = mkdtempSync(join(tmpdir(), 'cubby-console-'))
  try {
    const { inputs } = await buildConsole(outDir)
    const fromServer = inputs.filter((path) => path.startsWith(resolve(import.meta.dir, '../../server')))
    expect(fromServer.map((path) => relative(core, path)).sort()).toEqual(rules)
    const fromClient = inputs.filter((path) => path.startsWith(resolve(import.meta.dir, '../../client')))
    expect(fromClient.map((path) => relative(client, path)).sort()).toEqual(clientParts)
  } finally {
    rmSync(outDir, { recursive: true })
  }
})

test('these rules need neither Bun, Buffer nor node', () => {
  for (const rule of rules) {
    const code = withoutComments(readFileSync(join(core, rule), 'utf8'))
    expect([rule, code.match(/\b(?:Bun|Buffer|process|require)\b|['"](?:node|bun)(?::[^'"]*)?['"]/g)]).toEqual([
      rule,
      null,
    ])
  }
})
