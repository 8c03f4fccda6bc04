import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { OperatorError } from '../../core/operator-error.ts'
import { removeOnSignal } from '../../files/remove-on-signal.ts'
import { syncPath } from '../../files/sync.ts'
import { cannotWrite } from './write-lines.ts'

const refuseExistingDirectory = (dir: string): void => {
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) return
  throw new OperatorError(`${dir} exists and is not overwritten; give the name of a new directory`)
}

/**
 * A directory that is whole or not there: `fill` writes it under another name, and it is renamed when all of it is synced.
 * After a failure or a signal it is removed. Readable by its owner only.
 */
export const writeDirectory = async <T>(given: string, fill: (temporary: string) => Promise<T>): Promise<T> => {
  const dir = resolve(given)
  refuseExistingDirectory(dir)
  // The name has the id of this process: two exports to one name would mix their files.
  const temporary = `${dir}.${process.pid}.partial`
  const remove = (): void => rmSync(temporary, { recursive: true, force: true })
  const stopListening = removeOnSignal(remove)
  try {
    mkdirSync(temporary, { mode: 0o700 })
  } catch (error) {
    stopListening()
    throw cannotWrite(dir, error as Error)
  }
  try {
    const filled = await fill(temporary)
    syncNames(temporary)
    // Someone may have created it in the meantime.
    refuseExistingDirectory(dir)
    renameSync(temporary, dir)
    syncPath(dirname(dir))
    return filled
  } catch (error) {
    remove()
    throw error
  } finally {
    stopListening()
  }
}

/** The files themselves are synced. */
const syncNames = (dir: string): void => {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory()) syncNames(join(dir, entry.name))
  }
  syncPath(dir)
}
