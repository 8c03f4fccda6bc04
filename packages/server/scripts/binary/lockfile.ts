import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './targets.ts'

const packages: Record<string, { integrity?: string }> = JSON.parse(
  readFileSync(join(root, 'package-lock.json'), 'utf8'),
).packages

/** Keys are paths from the folder that has `node_modules`, which may be a link to another one. */
const installedIn = dirname(realpathSync(join(root, 'node_modules')))

/** The key of a package that is in this directory. */
export const keyOf = (packageDir: string): string =>
  relative(installedIn, realpathSync(packageDir)).replaceAll('\\', '/')

/** `sha512-` and the digest of the package's file in base64. `key` is as in the file: `node_modules/pg`. */
export const integrityOf = (key: string): string => {
  const integrity = packages[key]?.integrity
  if (!integrity?.startsWith('sha512-')) throw new Error(`package-lock.json has no sha512 of ${key}; run npm install`)
  return integrity
}
