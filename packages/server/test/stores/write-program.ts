import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundle } from '../../build.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { schemaVersion } from '../../src/engines/sqlite/migrations/schema.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { packedProgramOf } from './kept-stores.ts'

// Packs the program of this version beside its store, so that later tests can run both versions:
//
//   npx bun packages/server/test/stores/write-program.ts
//
// The commit of a release does this. A program that exists is not overwritten.

const serverDir = resolve(import.meta.dir, '../..')
const target = packedProgramOf(`v${schemaVersion}`)

if (existsSync(target)) throw new Error(`${target} exists; the program of a released version is never written again`)

const readme = (packages: number): string => `# The program of version ${packageJson.version}

The \`cubby\` command of version ${packageJson.version}, the last one that wrote stores of schema version ${schemaVersion}. Tests run it
beside newer versions. It needs Bun and no package: \`bun main.js serve --data DIR\`.

It is \`packages/server/src\` of that version, bundled with its dependencies by Bun ${Bun.version}:

    npx bun packages/server/test/stores/write-program.ts

\`LICENSES.txt\` has the licences of the ${packages} packages in the bundle. The rest is Cubby, under the licence of this repository.
`

const work = makeTempDir()
try {
  // The bundler's comments name files relative to this directory.
  process.chdir(serverDir)
  const packages = await bundle(work, [], { compact: true })
  const files = Object.fromEntries(readdirSync(work).map((name) => [name, readFileSync(join(work, name))]))
  const contents = { ...files, 'README.md': readme(packages.length) }
  await Bun.write(target, await new Bun.Archive(contents, { compress: 'gzip', level: 12 }).bytes())
  console.log(`${target}: ${statSync(target).size} bytes: ${Object.keys(contents).join(', ')}`)
} finally {
  removeTempDir(work)
}
