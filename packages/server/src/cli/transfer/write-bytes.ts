import { closeSync, fchmodSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { openNew } from '../../files/open-new.ts'
import { removeOnSignal } from '../../files/remove-on-signal.ts'
import { moveIntoPlace } from '../../files/sync.ts'
import { cannotWrite, kindOf, putToStdout, refuseExisting } from './write-lines.ts'

export interface ByteWriter {
  /** Resolves when there is room for more. */
  write(bytes: Uint8Array): Promise<void>
  /** Resolves when everything is written, and a file has its name. */
  end(): Promise<void>
  /** Removes a file that is not whole, after a failure. A signal that ends the process does the same. */
  abandon(): void
}

export const writeBytesToStdout = (): ByteWriter => ({
  write: putToStdout,
  async end() {},
  abandon() {},
})

/** The name has the id of this process: two downloads to one name would mix their bytes. A name may have 255 bytes. */
const partialOf = (file: string): string => {
  const end = `${process.pid}.partial`
  return Buffer.byteLength(basename(file)) > 230 ? join(dirname(file), `cubby-${end}`) : `${file}.${end}`
}

/**
 * A file. It is written under another name and renamed when it is whole and synced. A pipe or a device is written to
 * directly. An existing file is replaced only if `replaces` is true.
 */
export const writeBytesToFile = (file: string, { replaces }: { replaces: boolean }): ByteWriter => {
  const special = kindOf(file) === 'special'
  if (!replaces) refuseExisting(file)
  const path = special ? file : partialOf(file)
  const orCannot = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw cannotWrite(file, error as Error)
    }
  }
  let descriptor: number | undefined
  const abandon = (): void => {
    stopListening()
    try {
      if (descriptor !== undefined) closeSync(descriptor)
    } catch {
      // It was closed before the failure.
    }
    if (!special) rmSync(path, { force: true })
  }
  const stopListening = removeOnSignal(abandon)
  try {
    descriptor = special ? openSync(path, 'w') : openNew(path)
    // One that is replaced may have been for its owner only. It is read once more, to be synced.
    const mode = special ? undefined : statSync(file, { throwIfNoEntry: false })?.mode
    if (mode !== undefined) fchmodSync(descriptor, (mode & 0o777) | 0o400)
  } catch (error) {
    abandon()
    throw cannotWrite(file, error as Error)
  }
  const opened = descriptor
  return {
    async write(bytes) {
      orCannot(() => {
        for (let at = 0; at < bytes.length; ) at += writeSync(opened, bytes, at)
      })
    },
    async end() {
      closeSync(opened)
      if (!special) {
        // Someone may have created it in the meantime.
        if (!replaces) refuseExisting(file)
        orCannot(() => moveIntoPlace(path, file))
      }
      stopListening()
    },
    abandon,
  }
}
