import { openSync, rmSync } from 'node:fs'

/**
 * Makes the file anew and opens it. What is there was left by an earlier process that was interrupted, or is a link that
 * somebody else has put there: it must not be written through.
 */
export const openNew = (path: string, mode?: number): number => {
  rmSync(path, { force: true })
  return openSync(path, 'wx', mode)
}
