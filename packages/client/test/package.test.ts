import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { installBuilt } from './built-package.ts'

/** The limit is without the entry points `changes`, `load`, `worker` and `webhooks`. */
const bytesMax = 11_000

let directory: string
let folder: string
let dist: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cubby-client-'))
  folder = await installBuilt(directory)
  dist = join(folder, 'dist')
}, 120_000)
afterAll(() => rm(directory, { recursive: true, force: true }))

const modules = ['index', 'changes', 'load', 'worker', 'webhooks']

test('the module is under 11 kB, minified and gzipped', async () => {
  const sizes: Record<string, number> = {}
  for (const name of modules) {
    sizes[name] = Bun.gzipSync(await Bun.file(join(dist, `${name}.js`)).bytes(), { level: 9 }).length
  }
  console.log(`@cubbydb/client, bytes gzipped: ${JSON.stringify(sizes)}`)
  expect(sizes.index).toBeLessThan(bytesMax)
})

test.each(modules)('the lines of %s are short: Node prints the line of an uncaught error', async (name) => {
  const lines = (await Bun.file(join(dist, `${name}.js`)).text()).split('\n')
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(300)
})

// The build breaks the lines itself, and the source map with them.
test('with its source map, Node shows the line of the source', async () => {
  const script = join(directory, 'stack.mjs')
  await Bun.write(
    script,
    `import { Cubby } from '@cubbydb/client'
    const cubby = new Cubby({ url: 'http://127.0.0.1:4600', key: 'svc_live_' + '0'.repeat(38) })
    const task = cubby.db('app').task('t')
    for (const call of [() => cubby.db('..'), () => cubby.db('app').bucket('b').get('a//b'), () => task.work(() => {}, { concurrency: 0 })]) {
      try { await call() } catch (error) { console.log(error.stack) }
    }`,
  )
  const node = Bun.spawn(['node', '--enable-source-maps', script], { stderr: 'inherit' })
  const stack = await new Response(node.stdout).text()
  const lineOf = async (file: string, text: string) => {
    const lines = (await Bun.file(join(import.meta.dir, '../src', file)).text()).split('\n')
    const line = lines.findIndex((line) => line.includes(text))
    return `src/${file}:${line + 1}:${lines[line]!.indexOf(text) + 1}`
  }
  expect(stack).toContain(await lineOf('tables/collections.ts', "refusal('invalid_name'"))
  expect(stack).toContain(await lineOf('cubby.ts', "checkName(name, 'db')"))
  expect(stack).toContain(await lineOf('files/bucket.ts', "refusal('invalid_key'"))
  expect(stack).toContain(await lineOf('worker/work.ts', "new CubbyError('invalid_request'"))
})

/** Lists what a module imports, and how. */
const importsOf = async (name: string): Promise<string[]> => {
  const { imports } = new Bun.Transpiler({ loader: 'js' }).scan(await Bun.file(join(dist, `${name}.js`)).text())
  return [...new Set(imports.map(({ kind, path }) => `${kind} ${path}`))]
}

// So `instanceof CubbyError` holds for the errors of a worker too.
test('a module imports nothing but another one of the package, and nothing is there twice', async () => {
  expect(await importsOf('index')).toEqual([
    'dynamic-import ./load.js',
    'dynamic-import ./changes.js',
    'dynamic-import ./worker.js',
  ])
  expect(await importsOf('changes')).toEqual(['import-statement ./index.js'])
  expect(await importsOf('load')).toEqual(['import-statement ./index.js'])
  expect(await importsOf('worker')).toEqual(['import-statement ./index.js'])
  expect(await importsOf('webhooks')).toEqual([])
  for (const name of ['changes', 'load', 'worker', 'webhooks']) {
    expect(await Bun.file(join(dist, `${name}.js`)).text()).not.toContain('"CubbyError"')
  }
  expect(manifest).not.toContainKeys(['dependencies', 'peerDependencies', 'optionalDependencies'])
})

test('the manifest points to files that are there', () => {
  const paths = Object.values(manifest.exports).flatMap(({ types, default: script }) => [types, script])
  expect(paths).toHaveLength(10)
  for (const path of [...paths, manifest.main, manifest.types]) expect(existsSync(join(folder, path))).toBe(true)
  expect(manifest.files).toEqual(['dist'])
})

// A build that is older than the source must never be what the server or a test runs.
test('in the repository the client is its source, whatever is in dist', () => {
  const client = join(import.meta.dir, '../src/index.ts')
  expect(Bun.resolveSync('@cubbydb/client', join(import.meta.dir, '../../server/src/core'))).toBe(client)
  expect(Bun.resolveSync('@cubbydb/client', join(import.meta.dir, '../../..'))).toBe(client)
  for (const name of ['changes', 'load', 'worker', 'webhooks']) {
    const entry = join(import.meta.dir, `../src/${name}.ts`)
    expect(Bun.resolveSync(`@cubbydb/client/${name}`, join(import.meta.dir, '../../..'))).toBe(entry)
  }
})

test('the declarations import each other as .js, in every folder', async () => {
  const specifiers: string[] = []
  for await (const name of new Bun.Glob('**/*.d.ts').scan(dist)) {
    const text = await Bun.file(join(dist, name)).text()
    for (const [, specifier] of text.matchAll(/\bfrom '(\.[^']+)'/g)) specifiers.push(specifier!)
  }
  expect(specifiers).toContain('../transport/wire.js')
  expect(specifiers.filter((specifier) => !specifier.endsWith('.js'))).toEqual([])
})

// The settings of another project, which also checks its libraries. Once with module resolution as bundlers do it, once
// as Node does.
test.each([
  ['esnext', 'bundler'],
  ['nodenext', 'nodenext'],
])(
  'the declarations compile in another project: module %s',
  async (module, moduleResolution) => {
    const source = await Bun.file(join(import.meta.dir, 'types.ts')).text()
    const installed = source
      .replace('../src/index.ts', '@cubbydb/client')
      .replace(/\.\.\/src\/(changes|load|worker|webhooks)\.ts/g, '@cubbydb/client/$1')
    await Bun.write(join(directory, 'types.ts'), installed)
    await Bun.write(join(directory, 'package.json'), '{ "type": "module" }')
    await Bun.write(
      join(directory, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          exactOptionalPropertyTypes: true,
          noEmit: true,
          target: 'es2022',
          lib: ['es2022', 'dom'],
          types: [],
          module,
          moduleResolution,
        },
        files: ['types.ts'],
      }),
    )
    const tsc = Bun.spawn([join(import.meta.dir, '../../../node_modules/.bin/tsc'), '-p', directory])
    expect(await new Response(tsc.stdout).text()).toBe('')
    expect(await tsc.exited).toBe(0)
  },
  60_000,
)

/** The program prints what it sees of the names; Node runs it. */
const printNames = `
  const cubby = new client.Cubby({ url: 'http://127.0.0.1:4600', key: 'svc_live_' + '0'.repeat(38) })
  const db = cubby.db('app')
  const objects = [cubby, cubby.keys, cubby.tokens, cubby.issuers, cubby.databases(), db, db.tables, db.table('t'), db.buckets, db.bucket('b'), db.tasks, db.task('t')]
  const errors = [new client.CubbyError('internal', ''), new client.SaveError('internal', { saved: 0, chunks: [] }, new Error()), new worker.RunFailed(''), new webhooks.PushError('body', '')]
  console.log(...objects.concat(errors).map((it) => it.constructor.name), ...errors.map((it) => it.name), String(errors[0]))`

const namesSeen =
  'Cubby Keys Tokens Issuers Pages Database Tables Table Buckets Bucket Tasks Task CubbyError SaveError RunFailed PushError CubbyError SaveError RunFailed PushError CubbyError\n'

test('the classes have their names in the built module, and after the minifier of a project', async () => {
  const plain = join(directory, 'names.mjs')
  const imports = `import * as client from '@cubbydb/client'
    import * as worker from '@cubbydb/client/worker'
    import * as webhooks from '@cubbydb/client/webhooks'`
  await Bun.write(plain, `${imports}\n${printNames}`)
  const { outputs } = await Bun.build({ entrypoints: [plain], target: 'browser', minify: true })
  const text = await outputs[0]!.text()
  // The minifier did rename them.
  expect(text).not.toMatch(/class (Cubby|CubbyError|SaveError|Table)\b/)
  const minified = join(directory, 'names.min.mjs')
  await Bun.write(minified, text)
  for (const file of [plain, minified]) {
    const node = Bun.spawn(['node', file], { stderr: 'inherit' })
    expect(await new Response(node.stdout).text()).toBe(namesSeen)
    expect(await node.exited).toBe(0)
  }
})
