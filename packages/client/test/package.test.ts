import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from '../build.ts'
import manifest from '../package.json' with { type: 'json' }

const bytesMax = 6_000

let directory: string
let dist: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cubby-client-'))
  dist = join(directory, 'node_modules/@cubbydb/client')
  await build(dist)
}, 60_000)
afterAll(() => rm(directory, { recursive: true, force: true }))

test('the module is under 6 kB, minified and gzipped', async () => {
  const bytes = Bun.gzipSync(await Bun.file(join(dist, 'index.js')).bytes(), { level: 9 }).length
  console.log(`@cubbydb/client: ${bytes} bytes gzipped`)
  expect(bytes).toBeLessThan(bytesMax)
})

test('it is one module that imports nothing, and has no dependencies', async () => {
  const { imports } = new Bun.Transpiler({ loader: 'js' }).scan(await Bun.file(join(dist, 'index.js')).text())
  expect(imports).toEqual([])
  expect(manifest).not.toContainKeys(['dependencies', 'peerDependencies', 'optionalDependencies'])
})

test('the published manifest points to files that are there', async () => {
  const published = await Bun.file(join(dist, 'package.json')).json()
  expect(published).toMatchObject({ name: '@cubbydb/client', version: manifest.version, type: 'module' })
  expect(published.private).toBeUndefined()
  const files = await readdir(dist)
  for (const path of Object.values<string>(published.exports['.'])) expect(files).toContain(path.slice(2))
  expect(files).toContain('README.md')
})

test('the workspace manifest is for the workspace: not to be published, its types are the source', () => {
  expect(manifest.private).toBe(true)
  expect(manifest.exports['.'].types).toBe('./src/index.ts')
  expect(manifest.exports['.'].bun).toBe('./src/index.ts')
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
    await Bun.write(join(directory, 'types.ts'), source.replace('../src/index.ts', '@cubbydb/client'))
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
