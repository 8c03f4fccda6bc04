// npm runs this after `npm ci`. The server needs the built files, so this also works after `npm ci --omit=dev`: it uses
// Bun and the two libraries of the console, and no compiler.

import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(realpathSync(fileURLToPath(import.meta.url)))
const bun = join(here, '../../node_modules/bun/bin/bun.exe')

/** A failed build does not fail the install: a server without these files answers /console with the command that builds them. */
const giveUp = (reason) => {
  console.error(`The console cannot be built: ${reason}`)
  process.exit(0)
}

if (!existsSync(bun)) giveUp('Bun is not installed. Run "npm ci", then "npm run build -w packages/console".')
const { status, error } = spawnSync(bun, ['build.ts'], { cwd: here, stdio: 'inherit' })
if (status !== 0) giveUp(error?.message ?? `"npm run build" in ${here} failed.`)
