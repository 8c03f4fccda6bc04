import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { withGeneratedParts } from '../scripts/docs/http-api.ts'
import { partsOf } from '../scripts/docs/markdown.ts'
import { generatedPages } from '../scripts/docs/pages.ts'
import { commands } from '../src/cli/run.ts'
import { errorCodes } from '../src/core/error-codes.ts'
import * as limits from '../src/core/limits.ts'
import { consolePath } from '../src/http/console-endpoint.ts'
import { mcpPath } from '../src/http/mcp-endpoint.ts'
import { openRoutes, routes } from '../src/http/routes.ts'
import { statusOf } from '../src/http/status.ts'
import { makeDocument } from '../src/openapi/document.ts'
import { tags } from '../src/openapi/operations.ts'
import type { ResponseObject } from '../src/openapi/types.ts'
import { mainFile, type ServeProcess, spawnServe } from './cli/serve-process.ts'
import { eventually, isWhole, type Json, makeTempDir, removeTempDir, storeArguments } from './harness.ts'
import { dependsOnServer } from './openapi/stage.ts'

// Newcomers paste commands from the README, operators from the pages for them. Without these tests, a change in the code could
// make these pages wrong.

setDefaultTimeout(120_000)

const root = resolve(import.meta.dir, '../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const markdownIn = (dir: string): string[] =>
  readdirSync(join(root, dir))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(dir, name))
const documents = [...markdownIn('.'), ...markdownIn('docs')]
/** The pages in the order in which their commands are run. */
const operatorPages = ['running', 'deploying', 'watching', 'recovering', 'reference'].map((name) => `docs/${name}.md`)
const everyPage = [
  ...documents,
  'packages/client/README.md',
  'packages/server/README.md',
  'bench/README.md',
  ...readdirSync(join(root, 'examples')).map((name) => `examples/${name}/README.md`),
]

// ── Markdown ───────────────────────────────────────────────────────────────────────────────────────────────

interface Block {
  language: string
  text: string
  /** `docs/errors.md:12`, for error messages. */
  at: string
}

const blocksOf = (path: string, text = read(path)): Block[] => {
  const offset = read(path).indexOf(text)
  return Array.from(text.matchAll(/^```(\w*)\n(.*?)^```$/gms), (match) => ({
    language: match[1]!,
    text: match[2]!,
    at: `${path}:${
      read(path)
        .slice(0, offset + match.index)
        .split('\n').length
    }`,
  }))
}

const withoutBlocks = (text: string): string => text.replaceAll(/^```.*?^```$/gms, '')
const codeSpans = (text: string): string[] => Array.from(text.matchAll(/`([^`\n]+)`/g), ([, code]) => code!)

/** The text below a heading, up to the next one of its level or above. */
const section = (path: string, heading: string): string => {
  const level = /^#+/.exec(heading)![0].length
  const [, rest] = `\n${read(path)}`.split(`\n${heading}\n`)
  if (rest === undefined) throw new Error(`${path} has no heading "${heading}"`)
  return rest.split(new RegExp(`^#{1,${level}} `, 'm'))[0]!
}

const tableRows = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[-|\s]+$/.test(line))
    .slice(1)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

/** The anchor that a heading gets. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

// ── Answers that are shown ─────────────────────────────────────────────────────────────────────────────────

const varying = new Set(
  'updatedAt createdAt deletedAt recoverableUntil revokedAt expiresAt nextRunAt runAt finishedAt lease leaseUntil ttl id key masked secret cursor requestId'.split(
    ' ',
  ),
)

/**
 * Documents and real responses differ in times, ids, keys and cursors. This class maps each shown value to one real value for
 * the whole page, also in requests.
 */
class Stage {
  readonly #real = new Map<string, string>()

  /** A shown text with the real values in it. */
  translate(shown: string): string {
    const byLength = [...this.#real].sort(([a], [b]) => b.length - a.length)
    return byLength.reduce((text, [from, to]) => text.replaceAll(from, to), shown)
  }

  /** The expected response, with varying values taken from the real one. It never throws, so the difference is shown. */
  expected(shown: Json, came: Json, name = ''): Json {
    if (varying.has(name) && shown !== null && typeof shown === typeof came) {
      if (shown === '…') return came
      if (!this.#real.has(String(shown))) this.#real.set(String(shown), String(came))
      const real = this.#real.get(String(shown))!
      return typeof shown === 'number' ? Number(real) : real
    }
    if (dependsOnServer(shown, came, name)) return came
    if (name === 'url' && typeof shown === 'string') return this.#isUrl(shown, String(came)) ? came : shown
    if (name === 'message' || name === 'hint') return this.translate(shown)
    if (Array.isArray(shown)) return shown.map((value, i) => this.expected(value, came?.[i]))
    if (typeof shown !== 'object' || shown === null) return shown
    return Object.fromEntries(
      Object.entries(shown).map(([member, value]) => [member, this.expected(value, came?.[member], member)]),
    )
  }

  /** True if the URL is the shown one: on another port, with the real bucket, and with any text in the place of `…`. */
  #isUrl(shown: string, came: string): boolean {
    const withoutPort = (url: string): string => url.replace(/:\d+\//, '/')
    const parts = withoutPort(this.translate(shown)).split('…')
    const pattern = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[\\w-]+')
    return new RegExp(`^${pattern}$`).test(withoutPort(came))
  }

  /** Compared as text, so the members must be in the order of the page. */
  expectSame(shown: Json, came: Json, at: string): void {
    const print = (value: Json): string => `${at}\n${JSON.stringify(value, null, 2)}`
    expect(print(came)).toBe(print(this.expected(shown, came)))
  }
}

// ── The README ─────────────────────────────────────────────────────────────────────────────────────────────

const shell = Bun.which('bash') !== null && Bun.which('curl') !== null
if (!shell) console.log('docs.test.ts: no bash or no curl here; the commands in the documents are not run')

/** Runs the blocks one after the other in one shell. Returns the standard output of each. */
const runBlocks = async (blocks: Block[], env: Record<string, string>, prelude = ''): Promise<string[]> => {
  const mark = `--- ${crypto.randomUUID()} ---`
  const script = blocks.map(({ text }) => `${text}\nprintf '%s' '${mark}'\n`).join('')
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', prelude + script], {
    cwd: env.HOME,
    env: { PATH: process.env.PATH!, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  const outputs = out.split(mark)
  const failed = blocks[outputs.length - 1]
  expect({ exitCode: await child.exited, at: failed?.at, problems: failed === undefined ? '' : problems }).toEqual({
    exitCode: 0,
    at: undefined,
    problems: '',
  })
  return outputs.slice(0, -1)
}

describe('the commands that are shown', () => {
  let top: string
  let serving: ServeProcess
  let env: Record<string, string>
  /** The line that the README says to paste. */
  let exportLine: string

  // The very first start, as the README has it: address and keys are those that it prints.
  beforeAll(async () => {
    top = makeTempDir()
    serving = spawnServe({ dataDir: top })
    await serving.ready
    const [line, url, key] = await eventually(
      'the line to paste is printed',
      () => /^ *export CUBBY_URL=(http:\S+) CUBBY_KEY=(svc_live_\w{38})\n/m.exec(serving.stdout) ?? undefined,
    )
    exportLine = line!
    env = { HOME: top, CUBBY_DATA: top, CUBBY_URL: url!, CUBBY_KEY: key! }
  })
  afterAll(async () => {
    await serving?.end()
    removeTempDir(top)
  })

  // npx finds the cubby of the repository; here it is this one.
  const npx = `npx() { shift; '${process.execPath}' '${mainFile}' "$@"; }\n`
  const storeEnv = (): Record<string, string> => {
    const [, , , store] = storeArguments(top)
    return store === undefined ? env : { ...env, CUBBY_STORE: store }
  }

  const runProgram = async (text: string): Promise<{ out: string; problems: string }> => {
    const child = Bun.spawn([process.execPath, '-'], {
      cwd: root,
      env: { PATH: process.env.PATH!, ...env },
      stdin: new TextEncoder().encode(text),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, problems] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { out, problems }
  }

  /** Pastes the shell blocks of a text and compares what they print with the block that follows. */
  const paste = async (blocks: Block[], directory: string): Promise<number> => {
    const pasted = blocks.filter(({ language }) => language === 'sh')
    const outputs = await runBlocks(pasted, { HOME: directory }, exportLine)
    const stage = new Stage()
    pasted.forEach((block, i) => {
      const next = blocks[blocks.indexOf(block) + 1]
      // A block may have several commands: what the last one prints is shown.
      const last = outputs[i]!.trimEnd()
        .split('\n')
        .at(-1)!
        .replace(/^.*\}(?=\{)/, '')
      if (next?.language === 'json') stage.expectSame(JSON.parse(next.text), JSON.parse(last), next.at)
      else if (next?.language === 'text') expect(`${next.at} ${outputs[i]}`).toBe(`${next.at} ${next.text}`)
      else expect(`${block.at} ${outputs[i]}`).not.toContain('"error"')
    })
    return pasted.length
  }

  const expectProgram = async (path: string, out: string): Promise<void> => {
    const programs = blocksOf(path).filter(({ language }) => language === 'ts')
    expect(programs.length).toBe(1)
    expect(await runProgram(programs[0]!.text)).toEqual({ out, problems: '' })
  }

  test.skipIf(!shell)('the three requests of the README and its program work as they are pasted', async () => {
    const blocks = blocksOf('README.md', section('README.md', '## Three requests'))
    expect(blocks[0]!.text.match(/^curl /gm)).toHaveLength(3)
    expect(await paste(blocks, top)).toBe(1)
    await expectProgram('README.md', 'o-1 open\no-2 paid\n')
  })

  test.skipIf(!shell)('docs/tour.md works as it is pasted, and leaves no file behind', async () => {
    const clone = makeTempDir()
    expect(await paste(blocksOf('docs/tour.md'), clone)).toBeGreaterThan(15)
    expect(readdirSync(clone)).toEqual([])
    removeTempDir(clone)
    await expectProgram('docs/tour.md', 'o-1 paid\no-2 open\no-4 open\n')
    const [directory] = /(?<=^mkdir )\w+/m.exec(read('docs/tour.md'))!
    expect(read('.gitignore').split('\n')).toContain(`/${directory}/`)
  })

  test.skipIf(!shell)('the load of docs/http-api.md works as it is pasted', async () => {
    const headers = { Authorization: `Bearer ${env.CUBBY_KEY}` }
    // The tour may have made it.
    expect([201, 409]).toContain((await fetch(`${env.CUBBY_URL}/v1/app/orders`, { method: 'POST', headers })).status)
    expect(await paste(blocksOf('docs/http-api.md', section('docs/http-api.md', '## Loading')), top)).toBe(1)
  })

  test('the README is short enough to decide by', () => {
    expect(read('README.md').split('\n').length - 1).toBeLessThanOrEqual(160)
  })

  test.skipIf(!shell)('the command of the README for a lost key prints a key that works', async () => {
    const pasted = blocksOf('README.md', section('README.md', '## Start')).filter(({ text }) => /^npx /.test(text))
    expect(pasted.map(({ text }) => text)).toEqual(['npx cubbydb keys create --org default --kind secret\n'])
    const [output] = await runBlocks(pasted, storeEnv(), npx)
    const [, key] = /^key +(svc_live_\w{38})$/m.exec(output!)!
    const answer = await fetch(`${env.CUBBY_URL}/v1`, { headers: { authorization: `Bearer ${key}` } })
    expect(answer.status).toBe(200)
  })

  test('a second start prints that command and the address of /docs', async () => {
    const [command] = /^npx cubbydb keys create .*$/m.exec(section('README.md', '## Start'))!
    const cwd = makeTempDir()
    let printed = ''
    for (let start = 1; start <= 2; start++) {
      const again = spawnServe({ dataDir: cwd, cwd, bare: true, args: ['--port', '0'] })
      await again.ready
      expect(await again.end()).toBe(0)
      printed = again.stdout
    }
    removeTempDir(cwd)
    expect(printed.split('\n')).toContainEqual(expect.stringMatching(new RegExp(`: ${command}$`)))
    expect(printed).toMatch(/http:\/\/127\.0\.0\.1:\d+\/docs\n/)
    expect(printed).not.toContain('svc_')
  })

  test.skipIf(!shell || !isWhole)("the operator's commands work as they are pasted, beside the server", async () => {
    const blocks = operatorPages.flatMap((path) => blocksOf(path))
    const pasted = blocks.filter(
      ({ language, text }) =>
        language === 'sh' &&
        (/^npx cubbydb (?!serve)/.test(text) || text.startsWith('curl ')) &&
        !text.includes('sudo'),
    )
    expect(pasted.length).toBeGreaterThan(3)
    const outputs = await runBlocks(pasted, storeEnv(), npx)
    const pageOf = ({ at }: Block): string => at.split(':')[0]!
    pasted.forEach((block, i) => {
      const next = blocks[blocks.indexOf(block) + 1]
      if (next?.language === 'text' && pageOf(next) === pageOf(block)) {
        expect(`${next.at} ${outputs[i]}`).toBe(`${next.at} ${next.text}`)
      }
    })
  })

  test('the two commands of the README are scripts of the repository', () => {
    const { scripts } = JSON.parse(read('package.json'))
    for (const [, name] of documents.flatMap((path) => [
      ...read(path).matchAll(/npm (?:run )?(start|test|typecheck|lint|bench)\b/g),
    ])) {
      expect(Object.keys(scripts)).toContain(name!)
    }
    for (const command of ['npm ci && npm start', 'npm ci && npm test']) expect(read('README.md')).toContain(command)
  })
})

// ── Generated pages ────────────────────────────────────────────────────────────────────────────────────────

describe('the generated pages', () => {
  for (const [path, text] of generatedPages()) {
    test(`${path} is as the code describes it; if not, run "npm run docs"`, () => {
      expect(read(path)).toBe(text)
    })
  }

  test('every request and response of docs/http-api.md is in a generated part: the examples of the code are tested', () => {
    const byHand = read('docs/http-api.md').replaceAll(/^<!-- generated: .*? -->$.*?^<!-- \/generated -->$/gms, '')
    expect(byHand.match(/^```http$/m)).toBeNull()
    expect(blocksOf('docs/http-api.md').filter(({ language }) => language === 'http').length).toBeGreaterThan(60)
  })

  test('an operation that the page does not name goes to its chapter; without that, the error names it', () => {
    const page = read('docs/http-api.md').replace('<!-- generated: applyBatch -->', '<!-- generated: codes -->')
    expect(withGeneratedParts(page)).toContain('\n### `POST /v1/:db/:table/batch`\n')
    const without = page.replace(' Queries-and-batches -->', ' -->')
    expect(() => withGeneratedParts(without)).toThrow('no part for applyBatch (Queries and batches)')
  })

  test('every chapter of the catalogue has a place on the page for operations to come', () => {
    const words = partsOf(read('docs/http-api.md')).flatMap((part) => part.split(' '))
    expect(Object.keys(tags).filter((tag) => !words.includes(tag.replaceAll(' ', '-')))).toEqual([])
  })

  test('docs/http-api.md lists every route with the key that it needs, and no other', () => {
    const needs: Record<string, string> = { read: 'any', write: 'secret', 'manage-keys': 'secret, unlimited' }
    const served = Object.entries(routes).flatMap(([path, methods]) =>
      Object.entries(methods)
        // `query`, `find`, `batch`, `load`, `restore` and `changes` are hash keys like any other for GET and DELETE.
        .filter(
          ([method]) => !/\/(query|find|batch|load|restore|changes)$/.test(path) || !['GET', 'DELETE'].includes(method),
        )
        .map(([method, route]) => [`${method} ${path}`, needs[route.keyNeeded]!]),
    )
    const listed = tableRows(section('docs/http-api.md', '## Routes')).map(([route, , key]) => [
      codeSpans(route!)[0],
      key,
    ])
    const open = Object.keys(openRoutes).map((path) => [`GET ${path}`, 'none'])
    const files = ['GET', 'PUT'].map((method) => [`${method} /files/<bucket id>/<name>`, 'none'])
    expect(listed.sort()).toEqual(
      [...served, ...open, ...files, [`GET ${consolePath}`, 'none'], [`POST ${mcpPath}`, 'any']].sort(),
    )
  })

  test('each section of a route lists, with the codes that all routes of its kind have, exactly its error codes', () => {
    const common = tableRows(section('docs/http-api.md', '### Codes of every route')).map(([kind, codes]) => ({
      kind: kind!,
      codes: codeSpans(codes!),
    }))
    const document = makeDocument()
    let compared = 0
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if (method === 'head' || method === 'options' || operation.operationId.endsWith('WithRangeKey')) continue
        const route = `${method.toUpperCase()} ${path.replace('{bucketId}/{name}', '<bucket id>/<name>').replaceAll(/\{(\w+)\}/g, ':$1')}`
        const isSecret = operation.security.length > 0 && !operation.security.some((scheme) => 'publicKey' in scheme)
        const kinds: Record<string, boolean> = {
          'every route': true,
          'below `/v1` and `/api`': /^\/(v1|api)\b/.test(path),
          'with a database in the path': /\{(db|collection)\}/.test(path),
          'with a JSON body': operation.requestBody?.content['application/json'] !== undefined,
          'for secret keys only': isSecret,
          'for secret keys only, other than `GET`': isSecret && method !== 'get',
        }
        expect(common.map(({ kind }) => kind)).toEqual(Object.keys(kinds))
        const [, own = ''] = /Errors: (.*)\.$/m.exec(section('docs/http-api.md', `### \`${route}\``)) ?? []
        const said = [...common.filter(({ kind }) => kinds[kind]).flatMap(({ codes }) => codes), ...codeSpans(own)]
        const answered = Object.values(operation.responses).flatMap((response) => {
          const name = '$ref' in response ? response.$ref.split('/').at(-1)! : undefined
          const whole = name === undefined ? (response as ResponseObject) : document.components.responses[name]!
          return whole['x-error-codes'] ?? []
        })
        expect([route, ...said.sort()]).toEqual([route, ...answered.sort()])
        compared++
      }
    }
    expect(compared).toBeGreaterThan(50)
  })

  test('every code that docs/http-api.md names exists', () => {
    const named = codeSpans(withoutBlocks(read('docs/http-api.md'))).filter((code) =>
      /^(invalid|reserved|batch|missing|expired|revoked|read_only|key|secret|route|table|record|method|body|bucket|file|private|digest|range_not)_\w+$/.test(
        code,
      ),
    )
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((code) => !errorCodes.includes(code as never))).toEqual([])
  })
})

const errorEntries = (): Map<string, { status: number; answers: Json[] }> => {
  const path = 'docs/errors.md'
  const entries = read(path).split(/^### /m).slice(1)
  return new Map(
    entries.map((entry) => {
      const [, code] = /^`(\w+)`\n/.exec(entry)!
      const [, status] = /^\*\*(\d{3})\*\* /m.exec(entry)!
      const answers = blocksOf(path, entry).flatMap(({ text }) => {
        const shown = /^HTTP\/1\.1 (\d{3}) .*?\n\n(.*)$/s.exec(text)
        return shown === null ? [] : [{ status: Number(shown[1]), body: JSON.parse(shown[2]!) }]
      })
      return [code!, { status: Number(status), answers }]
    }),
  )
}

describe('docs/errors.md', () => {
  test('has one entry for every code, with its status and an example, and says how to fix it', () => {
    const entries = [...errorEntries()].map(([code, { status, answers }]) => {
      expect(section('docs/errors.md', `### \`${code}\``)).toContain('\nFix: ')
      return [code, status, answers.map((answer) => [answer.status, answer.body.error.code])]
    })
    expect(entries).toEqual(
      errorCodes
        .toSorted((a, b) => statusOf[a] - statusOf[b])
        .map((code) => [code, statusOf[code], [[statusOf[code], code]]]),
    )
  })

  test('every entry is under its status', () => {
    for (const part of read('docs/errors.md').split(/^## /m).slice(1)) {
      for (const [, status] of part.matchAll(/^\*\*(\d{3})\*\* /gm)) expect(part.slice(0, 3)).toBe(status!)
    }
  })

  // A machine that works causes none of these, so test/openapi/codes.test.ts does not see them either.
  test('the errors of a failing machine have the words of the server', () => {
    const source = [
      'http/respond-failure.ts',
      'http/admit.ts',
      'engines/sqlite/disk/damage.ts',
      'engines/sqlite/write/write-connection.ts',
      'engines/sqlite/write/write-queue.ts',
    ]
      .map((file) => read(`packages/server/src/${file}`))
      .join('\n')
    for (const code of ['internal', 'store_damaged', 'outcome_unknown', 'unavailable', 'storage_full']) {
      const { message, hint } = errorEntries().get(code)!.answers[0]!.body.error
      for (const words of [message, hint]) expect(`${code}: ${words} ${source.includes(words)}`).toEndWith(' true')
    }
  })
})

// ── Numbers ────────────────────────────────────────────────────────────────────────────────────────────────

/** A limit as written in the documents, converted to the unit at the end of its name. */
const parseBound = (text: string, name: string): number => {
  const [, digits, unit = ''] = /^([\d,]+)(?: (\w+))?/.exec(text)!
  const milliseconds: Record<string, number> = { s: 1_000, min: 60_000, h: 60 * 60_000, days: 24 * 60 * 60_000 }
  const factors: Record<string, number> = {
    KiB: 1_024,
    MiB: 1_048_576,
    GiB: 1_073_741_824,
    ...(/Ms(Max)?$/.test(name) ? milliseconds : {}),
  }
  return Number(digits!.replaceAll(',', '')) * (factors[unit] ?? 1)
}

const boundsOf = (path: string, heading: string): [string, number][] =>
  tableRows(section(path, heading)).map(([, bound, name]) => {
    const [constant] = codeSpans(name!)
    return [constant!, parseBound(bound!, constant!)]
  })

describe('numbers in the documents', () => {
  test('the tables of limits have every limit of core/limits.ts with its value, once', () => {
    const shown = [
      ...boundsOf('docs/http-api.md', '## Limits'),
      ...boundsOf('docs/reference.md', '## Bounds of a process'),
    ]
    expect(shown.map(([name]) => name).sort()).toEqual(Object.keys(limits).sort())
    expect(Object.fromEntries(shown)).toEqual({ ...limits })
  })

  test('the checkpoint policy is the one in the code', () => {
    const source = read('packages/server/src/engines/sqlite/checkpoint/checkpoint-policy.ts')
    const rows = tableRows(section('docs/reference.md', '## Checkpoints')).filter(
      ([, , cell]) => codeSpans(cell ?? '').length > 0,
    )
    expect(rows.map(([, , name]) => codeSpans(name!)[0])).toEqual([
      'checkpointAtPages',
      'resetAtPages',
      'resetPendingPagesMax',
      'walPagesMax',
    ])
    for (const [pages, , cell] of rows) {
      const [name] = codeSpans(cell!)
      const value = new RegExp(`^export const ${name} = ([\\d_]+)$`, 'm').exec(source)?.[1]
      expect(`${name} ${parseBound(pages!, '')}`).toBe(`${name} ${Number(value?.replaceAll('_', ''))}`)
    }
  })
})

// ── Commands, flags and variables ──────────────────────────────────────────────────────────────────────────

/** Everything that a document shows as code, a line each. */
const codeLines = (path: string): string[] => [
  ...codeSpans(withoutBlocks(read(path))),
  ...blocksOf(path).flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n')),
]

const flagsOf = (words: string[]): string[] =>
  words.flatMap((word) => (/^--[a-z]/.test(word) ? [word.slice(2).split('=')[0]!] : []))

/** The problem of a cubby command line (`words` after `cubby`), if there is one. */
const faultOf = (words: string[]): string | undefined => {
  const command = commands.find(({ name }) => name.split(' ').every((word, i) => words[i] === word))
  const everywhere = ['help', 'version']
  if (command === undefined) {
    const group = words.length === 1 && commands.some(({ name }) => name.startsWith(`${words[0]} `))
    return group || everywhere.includes(words[0]!.replace(/^--/, '')) ? undefined : 'no such command'
  }
  const unknown = flagsOf(words).find((flag) => !(flag in command.flags) && !everywhere.includes(flag))
  return unknown === undefined ? undefined : `--${unknown} is not a flag of ${command.name}`
}

describe('commands and flags', () => {
  test('every cubby command that is shown exists, with its flags', () => {
    const faults: string[] = []
    let calls = 0
    for (const path of documents) {
      for (const line of codeLines(path)) {
        for (const [, rest] of line.matchAll(/(?:^|[\s/])cubby(?:db)?((?: +[^\s|&;]+)+)/g)) {
          const words = rest!.trim().split(/ +/)
          if (!/^(--)?[a-z]+$/.test(words[0]!)) continue
          calls++
          const fault = faultOf(words)
          if (fault !== undefined) faults.push(`${path}: cubby ${words.join(' ')}: ${fault}`)
        }
        const started = /npm start -- (.+)/.exec(line)?.[1]
        const fault = started === undefined ? undefined : faultOf(['serve', ...started.split(' ')])
        if (fault !== undefined) faults.push(`${path}: ${line}: ${fault}`)
      }
    }
    expect(calls).toBeGreaterThan(10)
    expect(faults).toEqual([])
  })

  test('no page calls the command by the name of a package that is not ours', () => {
    const calls = everyPage.flatMap((path) =>
      codeLines(path)
        .filter((line) => /\b(?:npx|bunx|npm i|npm install) cubby\s/.test(line))
        .map((line) => `${path}: ${line}`),
    )
    expect(calls).toEqual([])
  })

  test('every flag that is named alone is a flag of some command', () => {
    const known = new Set(['help', 'version', ...commands.flatMap(({ flags }) => Object.keys(flags))])
    const named = documents.flatMap((path) =>
      codeSpans(withoutBlocks(read(path)))
        .filter((code) => /^--[a-z]/.test(code))
        .flatMap((code) => flagsOf(code.split(' ')).map((flag) => ({ path, flag }))),
    )
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter(({ flag }) => !known.has(flag))).toEqual([])
  })

  test('docs/reference.md lists every command with every flag', () => {
    const listed = tableRows(section('docs/reference.md', '## Commands'))
      .filter(([command]) => command!.startsWith('`cubby '))
      .map(([command, flags]) => [codeSpans(command!)[0], codeSpans(flags!)])
    const known = commands.map(({ name, positionals = [], flags }) => [
      ['cubby', name, ...positionals].join(' '),
      Object.entries(flags).map(([flag, { value }]) => (value === undefined ? `--${flag}` : `--${flag} ${value}`)),
    ])
    expect(listed).toEqual(known)
  })

  test('the defaults that are shown are those of the command', () => {
    const serve = commands.find(({ name }) => name === 'serve')!.flags
    const [data, host, port] = ['data', 'host', 'port'].map((flag) => serve[flag]!.default)
    expect(read('docs/running.md')).toContain(`npx cubbydb serve --data ${data} --host ${host} --port ${port}\n`)
    expect(read('README.md')).toContain(`\`http://${host}:${port}\``)
    expect(read('README.md')).toContain(`\`${data}\``)
  })

  test('every CUBBY_ variable that is named is read somewhere, and every one of the tests is named', () => {
    const flags = commands.flatMap(({ flags }) => Object.keys(flags))
    const known = new Set(flags.map((flag) => `CUBBY_${flag.toUpperCase().replaceAll('-', '_')}`))
    const inTests = new Set<string>()
    for (const dir of [
      'packages/server/src',
      'packages/server/test',
      'packages/client/test',
      'packages/console/test',
    ]) {
      for (const name of readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' })) {
        if (!name.endsWith('.ts') || name === 'docs.test.ts') continue
        for (const [variable] of read(join(dir, name)).matchAll(/\bCUBBY_TEST_[A-Z_]+\b/g)) inTests.add(variable)
      }
    }
    const named = documents.flatMap((path) => Array.from(read(path).matchAll(/\bCUBBY_[A-Z_]+\b/g), ([name]) => name))
    expect(named.filter((name) => !known.has(name) && !inTests.has(name))).toEqual([])
    expect([...inTests].filter((name) => !read('CONTRIBUTING.md').includes(name))).toEqual([])
  })

  test('docs/watching.md explains every line of the log, with its level, and no other', () => {
    const dir = 'packages/server/src'
    const source = readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => read(join(dir, name)))
      .join('\n')
    const logged = Array.from(source.matchAll(/\blog\('(\w+)', '([^']+)'/g), ([, level, text]) => `${level} ${text}`)
    const explained = tableRows(section('docs/watching.md', '## The log')).flatMap(([level, cell]) =>
      codeSpans(cell!).map((text) => `${level} ${text}`),
    )
    expect(explained.sort()).toEqual([...new Set(logged)].sort())
  })
})

// ── Between the documents ──────────────────────────────────────────────────────────────────────────────────

describe('between the documents', () => {
  test('the README links every page of docs/', () => {
    const linked = Array.from(read('README.md').matchAll(/\]\((docs\/[^)#]+)\)/g), ([, path]) => path!)
    expect(markdownIn('docs').filter((path) => !linked.includes(path))).toEqual([])
  })

  const headingsOf = (path: string): string[] =>
    Array.from(withoutBlocks(read(path)).matchAll(/^#+ (.*)$/gm), ([, heading]) => heading!)

  /**
   * True if there is no such file or heading, or if several have the anchor. Versions repeat their headings: a link means
   * the first.
   */
  const isBroken = (path: string, anchor?: string): boolean => {
    if (anchor === undefined || !existsSync(join(root, path))) return !existsSync(join(root, path))
    const found = headingsOf(path).filter((heading) => anchorOf(heading) === anchor).length
    return found !== 1 && !(found > 1 && path === 'CHANGELOG.md')
  }

  test('every link leads to a file and a heading that exist', () => {
    const broken: string[] = []
    for (const path of everyPage) {
      const text = withoutBlocks(read(path)).replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''))
      for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target!)) continue
        const [file, anchor] = target!.split('#') as [string, string | undefined]
        if (isBroken(file === '' ? path : join(dirname(path), file), anchor)) broken.push(`${path}: ${target}`)
      }
    }
    expect(broken).toEqual([])
  })

  // Help, messages and comments name a page, and some of its headings: `docs/recovering.md, "When the disk fails"`.
  test('every page and heading that the code names exists', () => {
    const folders = [
      'packages/server/src',
      'packages/client/src',
      'packages/console/src',
      'deploy',
      'examples',
      'bench',
    ]
    const files = folders.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /\.(tsx?|mjs|md|yaml|service)$/.test(entry.name))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)))
        .filter((path) => !path.includes('node_modules')),
    )
    const broken: string[] = []
    let named = 0
    for (const path of ['Dockerfile', ...files]) {
      const names = /\bdocs\/[\w/-]+\.md(?:#([\w-]+)|,? \(?"([A-Z][^"]+)")?/g
      for (const [name, anchor, heading] of read(path).matchAll(names)) {
        named++
        const page = /^docs\/[\w/-]+\.md/.exec(name)![0]
        if (isBroken(page, anchor ?? (heading === undefined ? undefined : anchorOf(heading))))
          broken.push(`${path}: ${name}`)
      }
      // The server sends docs/http-api.md under this path.
      for (const [name, anchor] of read(path).matchAll(/\/docs\.md#([\w-]+)/g)) {
        named++
        if (isBroken('docs/http-api.md', anchor)) broken.push(`${path}: ${name}`)
      }
    }
    expect(broken).toEqual([])
    expect(named).toBeGreaterThan(20)
  })

  test('CONTRIBUTING.md gives a reason for every dependency, and for no other', () => {
    const packages = readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'package.json'))
    const generators = 'packages/server/test/openapi/generators/package.json'
    const used = ['package.json', generators, ...packages].flatMap((path) => {
      const { dependencies, devDependencies, optionalDependencies, peerDependencies } = JSON.parse(read(path))
      return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies })
    })
    const explained = tableRows(section('CONTRIBUTING.md', '## Dependencies')).map(([name]) => codeSpans(name!)[0])
    expect(explained.sort()).toEqual([...new Set(used)].sort())
  })

  test('CHANGELOG.md has an entry for this version', () => {
    const { version } = JSON.parse(read('packages/server/package.json'))
    expect(read('CHANGELOG.md')).toContain(`\n## [${version}]`)
  })
})
