// Builds the program of the npm package in dist/. `npm pack` runs this; in the repository Bun runs the source.

import { readdirSync, readFileSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { buildConsole } from '../console/build.ts'
import manifest from './package.json' with { type: 'json' }
import { bundleScript } from './src/openapi/page/script.ts'

const here = import.meta.dir
const source = join(here, 'src')

const threadUrl = /new URL\((['"])([^'"]+)\.ts\1, import\.meta\.url\)/g

/** The files of threads: they are loaded by their URL, so the bundler does not follow them. */
export const threadFiles = (): string[] =>
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(source, name))
    .flatMap((file) =>
      Array.from(readFileSync(file, 'utf8').matchAll(threadUrl), ([, , path]) => resolve(dirname(file), `${path}.ts`)),
    )

const ownPlace = /\bimport\.meta\.(?:url|dir|dirname|path|filename|resolve)\b/

/** All files of the bundle are in one folder, whichever folder a thread's source is in. */
const threadUrls: Bun.BunPlugin = {
  name: 'URLs of threads',
  setup: (build) => {
    // The script of the docs page is imported as text.
    build.onLoad(
      { filter: /[/\\]server[/\\]src[/\\](?!openapi[/\\]page[/\\]browser[/\\]).*\.ts$/ },
      async ({ path }) => {
        const text = await Bun.file(path).text()
        if (ownPlace.test(text.replaceAll(threadUrl, ''))) {
          throw new Error(`${path} finds a file by import.meta, which is not in the package. Import its text or JSON.`)
        }
        const contents = text.replaceAll(
          threadUrl,
          (_, quote, thread) => `new URL(${quote}./${basename(thread)}.js${quote}, import.meta.url)`,
        )
        return { loader: 'ts', contents }
      },
    )
  },
}

/**
 * The script of the docs page as it is served. The source bundles it at the first request; the bundler would read tsconfig.json and
 * package.json of the directory where the server was started.
 */
const docsScript = (text: string): Bun.BunPlugin => ({
  name: 'the script of the docs page',
  setup: (build) => {
    build.onLoad({ filter: /[/\\]server[/\\]src[/\\]openapi[/\\]page[/\\]script\.ts$/ }, () => ({
      loader: 'ts',
      contents: `export const bundleScript = async (): Promise<string> => ${JSON.stringify(text)}`,
    }))
  },
})

/** Of a package, or of a part of it, such as `csv-parse/sync`. */
const isOf = (path: string, name: string): boolean => path === name || path.startsWith(`${name}/`)

/** Packages that are neither in the bundle nor installed with it. */
const missingFrom = (text: string, external: string[]): string[] =>
  new Bun.Transpiler({ loader: 'js' })
    .scanImports(text)
    .map(({ path }) => path)
    .filter((path) => !isBuiltin(path) && !path.startsWith('bun') && !path.startsWith('.'))
    .filter((path) => !external.some((name) => isOf(path, name)))

const readLicense = (dir: string): string => {
  const { name, version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
  const file = readdirSync(dir).find((entry) => /^licen[cs]e(\.|$)/i.test(entry))
  const text =
    file === undefined
      ? readFileSync(join(dir, 'README.md'), 'utf8').split(/^#+ licen[cs]e$/im)[1]
      : readFileSync(join(dir, file), 'utf8')
  if (text === undefined || !/copyright/i.test(text)) throw new Error(`the licence of ${name} ${version} was not found`)
  return `${name} ${version} (${license})\n\n${text.trim()}\n`
}

/** The directories of other people's packages in the bundle. */
const packagesIn = (inputs: string[]): string[] => {
  const dirs = inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0])
  return [...new Set(dirs.filter((dir) => dir !== undefined))].sort()
}

/**
 * Writes `main.js` and a file for each thread into `outDir`. The packages in `external` stay imports. All others are in
 * the bundle, their licences in `LICENSES.txt`; returns their directories. Those in the console's script count too. `splitting` keeps what is loaded on demand
 * (an engine, the docs page) in files of its own, so that a start does not parse it. `compact` leaves out comments and
 * indentation.
 */
export const bundle = async (
  outDir: string,
  external: string[],
  { splitting = false, compact = false },
): Promise<string[]> => {
  const { inputs: consoleInputs } = await buildConsole(join(here, '../console/dist'))
  const docsText = await bundleScript()
  const { outputs, metafile } = await Bun.build({
    entrypoints: [join(source, 'main.ts'), ...threadFiles()],
    target: 'bun',
    outdir: outDir,
    naming: '[name].[ext]',
    external,
    splitting,
    minify: { whitespace: compact },
    plugins: [docsScript(docsText), threadUrls],
    metafile: true,
  })
  for (const output of outputs.filter(({ path }) => path.endsWith('.js'))) {
    const missing = missingFrom(await output.text(), external)
    if (missing.length > 0) throw new Error(`not in the bundle: ${missing.join(', ')}`)
  }
  const packages = packagesIn([...Object.keys(metafile!.inputs).map((path) => resolve(path)), ...consoleInputs])
  if (packages.length > 0) {
    await Bun.write(join(outDir, 'LICENSES.txt'), packages.map(readLicense).join(`\n${'-'.repeat(80)}\n\n`))
  }
  return packages
}

/** The dependencies are installed with the package; the client, which is not, is in the bundle. */
export const build = async (outDir: string): Promise<void> => {
  await rm(outDir, { recursive: true, force: true })
  await bundle(outDir, Object.keys(manifest.dependencies), { splitting: true })
}

/** Each thread of the embedded engine as one file, for tests that open an engine: it starts faster than several. */
export const buildEngineThreads = (outDir: string): Promise<Bun.BuildOutput> =>
  Bun.build({
    entrypoints: threadFiles().filter((file) => file.startsWith(join(source, 'engines'))),
    target: 'bun',
    outdir: outDir,
    naming: '[name].[ext]',
    external: Object.keys(manifest.dependencies),
  })

if (import.meta.main) {
  await build(join(here, 'dist'))
  // npm takes only the licence that is in the folder of the package.
  await cp(join(here, '../../LICENSE'), join(here, 'LICENSE'))
}
