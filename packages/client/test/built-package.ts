import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from '../build.ts'

/** Puts the package into `node_modules` of a directory, with what is in the published one. Resolves to its folder. */
export const installBuilt = async (directory: string): Promise<string> => {
  const folder = join(directory, 'node_modules/@cubbydb/client')
  await build(join(folder, 'dist'))
  await cp(join(import.meta.dir, '../package.json'), join(folder, 'package.json'))
  return folder
}
