import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeDocument } from '../../src/openapi/document.ts'
import type { HttpExample } from '../../src/openapi/examples/http-example.ts'
import { type Entry, entriesOf } from '../../src/openapi/page/entries.ts'
import { type Language, samplesOf } from '../../src/openapi/samples/sample.ts'
import { type Json, makeTempDir, type Organization, removeTempDir, type Server, startServer } from '../harness.ts'
import { PythonRunner, runCurl, runTypeScript, type Said } from './sample-runners.ts'
import { Stage } from './stage.ts'

// Readers copy the code of the page and run it. So each sample is run as it stands on the page, against a real server, and what
// it prints is compared with the answer that the page shows beside it.

setDefaultTimeout(120_000)

const document = makeDocument()
const root = resolve(import.meta.dir, '../../../..')

interface Sample {
  entry: Entry
  example: HttpExample
  sources: Record<Language, string>
}

const samples: Sample[] = entriesOf(document).flatMap((entry) =>
  entry.samples.map(({ example, request }) => ({ entry, example, sources: samplesOf(request, example) })),
)

/** A folder in which `@cubbydb/client` is installed. */
let folder: string
let server: Server
let organization: Organization
beforeAll(async () => {
  folder = makeTempDir()
  mkdirSync(join(folder, 'node_modules/@cubbydb'), { recursive: true })
  symlinkSync(join(root, 'packages/client'), join(folder, 'node_modules/@cubbydb/client'))
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  symlinkSync(join(root, 'node_modules/bun-types'), join(folder, 'node_modules/bun-types'))
  server = await startServer({ shared: true })
  organization = await server.createOrganization()
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(folder)
})

const nameOf = ({ entry, example }: Sample): string => `${entry.operation.operationId} ${example.name}`

/** The same text must be sent twice. Each language writes JSON in its own way, so the sample itself is run twice. */
const isRepetition = (sample: Sample): boolean => nameOf(sample) === 'runTask repeated'

const run = async (sample: Sample, once: () => Promise<Said>): Promise<Said> => {
  if (isRepetition(sample)) await once()
  return once()
}

/** Each sample starts with an organization in the state of the document: `x-given`, then the example's own steps. */
const prepare = async (sample: Sample): Promise<{ stage: Stage; key: string; response: Json }> => {
  const { entry, example } = sample
  const { operation } = entry
  // A listing must not have what an earlier sample left. A new organization takes time, so not every sample gets one.
  const newOnes = ['Tables', 'Buckets', 'Files', 'listTasks', 'restoreTask', 'runTask']
  if (newOnes.some((name) => operation.tags.includes(name) || operation.operationId === name)) {
    organization = await server.createOrganization()
  }
  const key = organization.secretKey
  await server.as(key).delete('/v1/app/orders')
  await server.as(key).delete('/v1/app/_buckets/avatars')
  await server.as(key).delete('/v1/app/_tasks/mail')
  await server.as(key).delete('/api/issuers/auth')
  const stage = new Stage()
  const response = { status: example.status, value: example.response }
  for (const step of [...document['x-given'], ...(example.given ?? [])]) {
    const { method, path, answer: shown } = step
    if (isRepetition(sample) && path.endsWith('/run')) continue
    const came = await server.raw(method, stage.translate(path), { key, ...stage.sent(step) })
    if (came.status >= 400) throw new Error(`${method} ${path} answered ${came.text}`)
    if (shown !== undefined) stage.expectSame(shown, came.body, `${method} ${path}`)
  }
  return { stage, key, response }
}

/** The document and the pages are shown cut short. */
const isCutShort = ({ entry }: Sample): boolean =>
  ['/openapi.json', '/docs', '/docs.md', '/SKILL.md', '/llms.txt'].includes(entry.path)

const expectAnswer = (sample: Sample, stage: Stage, response: Json, said: Said, at: string) => {
  if (said.error !== undefined) throw new Error(`${at} failed: ${said.error}`)
  // Our client says by a code, or by undefined, what is a status over HTTP.
  const { code } = response.value?.error ?? {}
  if (said.code !== undefined) expect(`${at} ${said.code}`).toBe(`${at} ${code}`)
  else if (said.printed === 'undefined')
    expect(['record_not_found', 'file_not_found', 'run_not_found', 'issuer_not_found']).toContain(code)
  else {
    if (said.status !== undefined) expect(`${at} ${said.status}`).toBe(`${at} ${response.status}`)
    if (typeof response.value === 'string') expect(said.value as string).toStartWith(response.value)
    else if (response.value === undefined) expect(said.value).toBeObject()
    else if (isCutShort(sample)) expect(said.value).toMatchObject(response.value)
    else stage.expectSame(response.value, said.value, at)
  }
}

/** Our client returns a count as a number, claimed runs as a list, and the records of `find` in the order of their keys. */
const answerOfClient = (source: string, response: Json): Json => {
  if (source.includes('.count(')) return { ...response, value: response.value.count }
  if (source.includes('.claim(')) return { ...response, value: response.value.runs }
  if (!source.includes('.find(')) return response
  const { items, missing } = response.value as { items: Json[]; missing: Json[] }
  expect([items.length, missing.length]).toEqual([2, 1])
  // The second of the three keys names no record.
  return { ...response, value: [items[0], undefined, items[1]] }
}

describe('TypeScript', () => {
  test('every sample compiles', async () => {
    for (const [i, { sources }] of samples.entries()) {
      // A file without an import is a script, in which names of other files count.
      writeFileSync(join(folder, `sample-${i}.ts`), `${sources.typescript}\nexport {}\n`)
    }
    const options = { lib: ['esnext'], types: ['bun'], strict: true, noEmit: true, skipLibCheck: true }
    const modules = {
      module: 'preserve',
      moduleResolution: 'bundler',
      target: 'esnext',
      allowImportingTsExtensions: true,
    }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...options, ...modules }, include: ['*.ts'] }),
    )
    const compiler = Bun.spawn([process.execPath, 'x', '--no-install', 'tsc', '-p', folder], {
      cwd: root,
      stdout: 'pipe',
    })
    const faults = await new Response(compiler.stdout).text()
    expect(faults).toBe('')
    expect(await compiler.exited).toBe(0)
  })

  test('samples use our client where it has a method, and fetch elsewhere', () => {
    const withFetch = samples.filter(({ sources }) => sources.typescript.includes('await fetch('))
    const succeeding = withFetch.filter(({ entry, example: { status, response } }) => {
      return status < 300 && response !== undefined && entry.operation.security.length > 0
    })
    const ids = new Set(succeeding.map(({ entry }) => entry.operation.operationId))
    // The client has records, which are more than items, the bytes of a file are not what it prints, and it throws when a line
    // stops a load.
    expect([...ids]).toEqual(['loadRecords', 'getItem', 'putItem', 'patchItem', 'deleteItem', 'getFile'])
    expect(samples.length - withFetch.length).toBeGreaterThan(25)
  })

  for (const sample of samples) {
    test(`${nameOf(sample)} prints what is shown`, async () => {
      const { stage, key, response } = await prepare(sample)
      const source = stage.translate(sample.sources.typescript)
      const environment = { CUBBY_URL: server.url, CUBBY_KEY: key }
      const said = await run(sample, () => runTypeScript(source, folder, environment))
      expectAnswer(sample, stage, answerOfClient(source, response), said, nameOf(sample))
    })
  }
})

const python = PythonRunner.find('samples in Python')

describe.skipIf(python === undefined)('Python', () => {
  let runner: PythonRunner
  beforeAll(() => {
    runner = new PythonRunner(python!)
  })
  afterAll(() => runner.stop())

  for (const sample of samples) {
    test(`${nameOf(sample)} prints what is shown`, async () => {
      const { stage, key, response } = await prepare(sample)
      const source = stage.translate(sample.sources.python)
      const said = await run(sample, () => runner.run(source, { CUBBY_URL: server.url, CUBBY_KEY: key }))
      expectAnswer(sample, stage, response, said, nameOf(sample))
    })
  }
})

const curl = Bun.which('curl')
if (curl === null) console.warn('SKIPPED: samples in curl. No curl was found.')

describe.skipIf(curl === null)('curl', () => {
  for (const sample of samples) {
    test(`${nameOf(sample)} prints what is shown`, async () => {
      const { stage, key, response } = await prepare(sample)
      const source = stage.translate(sample.sources.curl)
      const said = await run(sample, () => runCurl(source, { CUBBY_URL: server.url, CUBBY_KEY: key }))
      expectAnswer(sample, stage, response, said, nameOf(sample))
    })
  }
})
