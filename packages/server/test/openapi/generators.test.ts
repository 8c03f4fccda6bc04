import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Json, makeTempDir, removeTempDir, type Server, startServer } from '../harness.ts'
import { installGenerators, modules } from './generators/install.ts'

// People generate their clients from the document. A document can be valid and still give a client that does not
// compile, or one whose `data` takes nothing. So two generators run here: what they generate is compiled by
// TypeScript 5, with a program that uses it, and the program talks to a real server.

setDefaultTimeout(300_000)

const generators = join(import.meta.dir, 'generators')
const dir = makeTempDir()
let server: Server

beforeAll(async () => {
  installGenerators()
  server = await startServer({ shared: true })
  symlinkSync(modules, join(dir, 'node_modules'))
  await Bun.write(join(dir, 'openapi.json'), await fetch(`${server.url}/openapi.json`))
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

interface Result {
  exitCode: number
  stdout: string
  stderr: string
}

/** No tool may ask the network for anything: no news of updates, no reports of use. */
const quiet = {
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  DO_NOT_TRACK: '1',
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1',
}

/** Runs a file with Bun: some of the tools need a newer Node than this project does. */
const run = async (cwd: string, ...words: string[]): Promise<Result> => {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd,
    env: { ...process.env, ...quiet },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { exitCode: await child.exited, stdout, stderr }
}

const succeed = async (cwd: string, ...words: string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await run(cwd, ...words)
  expect(`exit code ${exitCode}\n${exitCode === 0 ? '' : stdout + stderr}`).toBe('exit code 0\n')
  return stdout
}

const tool = (path: string): string => join(modules, path)

/** A folder with the program, the key of a new organization and the place for what is generated. */
const makeProject = async (name: string): Promise<string> => {
  const project = join(dir, name)
  mkdirSync(join(project, 'generated'), { recursive: true })
  copyFileSync(join(generators, 'programs', `${name}.ts`), join(project, 'program.ts'))
  copyFileSync(join(generators, 'tsconfig.programs.json'), join(project, 'tsconfig.json'))
  const { secretKey } = await server.createOrganization()
  writeFileSync(join(project, 'connection.json'), JSON.stringify({ url: server.url, key: secretKey }))
  return project
}

const compileAndRun = async (project: string): Promise<Json> => {
  await succeed(project, tool('typescript/bin/tsc'), '-p', '.')
  return JSON.parse(await succeed(project, 'program.ts'))
}

/** Every program prints these answers. */
const expectedAnswers = {
  created: 201,
  put: { hashKey: 'a', rangeKey: 'b', data: { x: 1 }, updatedAt: expect.any(Number) },
  minimal: { hashKey: 'alone', ttl: 4102444800, updatedAt: expect.any(Number) },
  x: 1,
  count: 1,
  sameVersion: true,
  batch: { status: 412, code: 'precondition_failed' },
  missing: { status: 404, code: 'record_not_found' },
  keys: 1,
}

describe('a generated client compiles in strict mode and makes its calls', () => {
  test('openapi-typescript with openapi-fetch', async () => {
    const project = await makeProject('openapi-typescript')
    const target = join(project, 'generated/openapi-typescript.ts')
    await succeed(dir, tool('openapi-typescript/bin/cli.js'), 'openapi.json', '-o', target)
    const responses = await compileAndRun(project)
    expect(responses).toEqual(expectedAnswers)
  })

  test('@hey-api/openapi-ts', async () => {
    const project = await makeProject('hey-api')
    const target = join(project, 'generated/hey-api')
    await succeed(dir, tool('@hey-api/openapi-ts/bin/run.js'), '-i', 'openapi.json', '-o', target, '--no-log-file')
    const responses = await compileAndRun(project)
    expect(responses).toEqual(expectedAnswers)
  })
})

describe("Redocly's recommended rules", () => {
  const lint = async (file: string): Promise<Json> => {
    const config = join(generators, 'redocly.yaml')
    const flags = ['--config', config, '--format', 'json', '--max-problems', '1000']
    const { stdout, stderr } = await run(dir, tool('@redocly/cli/bin/cli.js'), 'lint', file, ...flags)
    if (!stdout.startsWith('{')) throw new Error(`redocly printed no JSON: ${stdout}${stderr}`)
    const { totals, problems } = JSON.parse(stdout)
    return { ...totals, problems: problems.map(({ ruleId, message }: Json) => `${ruleId}: ${message}`) }
  }

  test('find no error, and no warning but two', async () => {
    // The pattern of `table` refuses `_buckets` and `_tasks`, and the server takes a fixed segment first. The rule looks at neither.
    const known = ['_buckets/{bucket}', '_tasks/{task}'].map((path) => {
      const paths = `\`/v1/{db}/{table}/restore\` and \`/v1/{db}/${path}\``
      return `no-ambiguous-paths: Paths should resolve unambiguously. Found two ambiguous paths: ${paths}.`
    })
    expect(await lint('openapi.json')).toEqual({ errors: 0, warnings: 2, ignored: 0, problems: known })
  })

  test('are in force: a document with an error and a bad example is not passed', async () => {
    const document: Json = await Bun.file(join(dir, 'openapi.json')).json()
    document.paths['/v1'].get.nonsense = true
    document.components.examples.invalid_json.value = { error: 'text' }
    await Bun.write(join(dir, 'bad.json'), JSON.stringify(document))
    const { errors, warnings } = await lint('bad.json')
    expect([errors > 0, warnings > 0]).toEqual([true, true])
  })
})
