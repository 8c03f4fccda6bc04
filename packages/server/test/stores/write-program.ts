import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundle } from '../../build.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { schemaVersion } from '../../src/engines/sqlite/migrations/schema.ts'
import { folderOf } from './kept-stores.ts'

// Writes the program of this version into the folder of its store, so that later tests can run both versions:
//
//   bun packages/server/test/stores/write-program.ts
//
// Run it before the first change of the next version. A program that exists is not overwritten.

const serverDir = resolve(import.meta.dir, '../..')
const target = join(folderOf(`v${schemaVersion}`), 'server')

/** The last commit that changed the program. */
const commit = (
  await Bun.$`git log -1 --format=%h -- packages/server/src packages/client/src`.cwd(join(serverDir, '../..')).text()
).trim()

if (existsSync(target)) throw new Error(`${target} exists; the program of a released version is never written again`)

// The bundler's comments name files relative to this directory.
process.chdir(serverDir)
try {
  const packages = await bundle(target, [], { compact: true })
  writeFileSync(
    join(target, 'README.md'),
    `# The program of version ${packageJson.version}

The \`cubby\` command of version ${packageJson.version}, the last one that wrote stores of schema version ${schemaVersion}. Tests run it
beside newer versions. It needs Bun and no package: \`bun main.js serve --data DIR\`.

It is \`packages/server/src\` at commit ${commit}, bundled with its dependencies by Bun ${Bun.version}:

    bun packages/server/test/stores/write-program.ts

\`LICENSES.txt\` has the licences of the ${packages.length} packages in the bundle. The rest is Cubby, under the licence of this repository.
These files are generated. Do not edit them or write them again.
`,
  )
} catch (error) {
  rmSync(target, { recursive: true, force: true })
  throw error
}
console.log(`${target}: ${readdirSync(target).join(', ')}`)
