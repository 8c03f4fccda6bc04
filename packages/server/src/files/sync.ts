import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Syncs a file's content, or a directory: the names in it. */
export const syncPath = (path: string): void => {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Gives a finished file its name. The content is synced before the rename and the name after it: a power cut leaves the
 * whole file or none.
 */
export const moveIntoPlace = (temporary: string, file: string): void => {
  syncPath(temporary)
  renameSync(temporary, file)
  syncPath(dirname(resolve(file)))
}
