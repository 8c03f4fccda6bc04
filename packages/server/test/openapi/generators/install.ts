import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// `npm test` runs this file first. The test calls it too, so that it also works alone. It is not part of `npm ci`:
// who only starts the server does not need these packages.

const folder = import.meta.dir
export const modules = join(folder, 'node_modules')

/** Says which lockfile the folder was installed from. */
const stampFile = join(modules, '.installed-from')

const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Installs the generators, unless they are there as the lockfile says. */
export const installGenerators = (): void => {
  const lockfile = readFileSync(join(folder, 'package-lock.json'))
  const timestamp = createHash('sha256').update(lockfile).digest('hex')
  if (readText(stampFile) === timestamp) return
  console.log('installing the code generators that tests run on /openapi.json …')
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  const { status, error } = spawnSync('npm', ['ci', ...flags], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) {
    const cause = error?.message ?? `npm ci ended with exit code ${status}`
    throw new Error(
      `The code generators could not be installed (${cause}). Check the network, then: cd ${folder} && npm ci`,
    )
  }
  writeFileSync(stampFile, timestamp)
}

if (import.meta.main) installGenerators()
