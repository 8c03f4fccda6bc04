import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { schemaVersion } from '../../src/engines/sqlite/migrations/schema.ts'
import { folderOf } from './kept-stores.ts'

// Writes the program of this version into the folder of its store, so that later tests can run both versions:
//
//   bun packages/server/test/stores/write-program.ts
//
// Run it before the first change of the next version. A program that exists is not overwritten.

const serverDir = resolve(import.meta.dir, '../..')
const source = join(serverDir, 'src')
const target = join(folderOf(`v${schemaVersion}`), 'server')

const threadUrl = /new URL\((['"])([^'"]+\.ts)\1, import\.meta\.url\)/g

/** The files of threads: they are loaded by their URL, so the bundler does not follow them. */
const threadFiles = (): string[] =>
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(source, name))
    .flatMap((file) =>
      Array.from(readFileSync(file, 'utf8').matchAll(threadUrl), ([, , path]) => resolve(dirname(file), path!)),
    )

/** The directories of the packages in a bundle: the bundler names every file in a comment. */
const packagesIn = (text: string): string[] =>
  Array.from(text.matchAll(/^\/\/ (\S*node_modules\/(?:@[^/\s]+\/)?[^/\s]+)\//gm), ([, dir]) => resolve(dir!))

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

/** The last commit that changed the program. */
const commit = (
  await Bun.$`git log -1 --format=%h -- packages/server/src packages/client/src`.cwd(join(serverDir, '../..')).text()
).trim()

if (existsSync(target)) throw new Error(`${target} exists; the program of a released version is never written again`)

// The bundler's comments name files relative to this directory.
process.chdir(serverDir)
const { outputs } = await Bun.build({
  entrypoints: [join(source, 'main.ts'), ...threadFiles()],
  target: 'bun',
  naming: '[name].[ext]',
})
const names = outputs.map(({ path }) => basename(path))
mkdirSync(target)
try {
  const packages = new Set<string>()
  for (const output of outputs) {
    const text = (await output.text()).replaceAll(threadUrl, (_, quote, path) => {
      const name = basename(path).replace(/\.ts$/, '.js')
      if (!names.includes(name)) throw new Error(`${path} is loaded by its URL but was not bundled`)
      return `new URL(${quote}./${name}${quote}, import.meta.url)`
    })
    const missing = new Bun.Transpiler({ loader: 'js' })
      .scanImports(text)
      .filter(({ path }) => !isBuiltin(path) && !path.startsWith('bun'))
    if (missing.length > 0) throw new Error(`not in the bundle: ${missing.map(({ path }) => path).join(', ')}`)
    for (const dir of packagesIn(text)) packages.add(dir)
    writeFileSync(join(target, basename(output.path)), text)
  }
  const licenses = [...packages].sort().map(readLicense)
  writeFileSync(join(target, 'LICENSES.txt'), licenses.join(`\n${'-'.repeat(80)}\n\n`))
  writeFileSync(
    join(target, 'README.md'),
    `# The program of version ${packageJson.version}

The \`cubby\` command of version ${packageJson.version}, the last one that wrote stores of schema version ${schemaVersion}. Tests run it
beside newer versions. It needs Bun and no package: \`bun main.js serve --data DIR\`.

It is \`packages/server/src\` at commit ${commit}, bundled with its dependencies by Bun ${Bun.version}:

    bun packages/server/test/stores/write-program.ts

\`LICENSES.txt\` has the licences of the ${packages.size} packages in the bundle. The rest is Cubby, under the licence of this repository.
These files are generated. Do not edit them or write them again.
`,
  )
} catch (error) {
  rmSync(target, { recursive: true })
  throw error
}
console.log(`${target}: ${names.join(', ')}`)
