// npm runs this in two cases: after `npm ci` in the repository, and when another project installs this folder
// (`npm install ../cubby/packages/client`). npm then only links to the folder, so dist/ has to be here.

import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(realpathSync(fileURLToPath(import.meta.url)))
const root = join(here, '../..')
const project = process.env.npm_config_local_prefix ?? root
const isOurs = existsSync(project) && realpathSync(project) === root

/** In the repository nothing needs dist/: `npm ci --omit=dev`, which installs no compiler, must not fail. */
const giveUp = (reason) => {
  console.error(`@cubbydb/client cannot be built: ${reason}`)
  process.exit(isOurs ? 0 : 1)
}

// `npm pack` has just built it.
if (process.env.npm_command === 'pack' || process.env.npm_command === 'publish') process.exit(0)

const bun = join(root, 'node_modules/bun/bin/bun.exe')
if (!existsSync(bun) || !existsSync(join(root, 'node_modules/.bin/tsc'))) {
  giveUp(`the tools of its repository are not installed. Run "npm ci" in ${root}, then install it again.`)
}
const { status, error } = spawnSync(bun, ['build.ts'], { cwd: here, stdio: 'inherit' })
if (status !== 0) giveUp(error?.message ?? `"npm run build" in ${here} failed.`)
