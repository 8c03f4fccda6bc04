import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { moveIntoPlace } from '../../files/sync.ts'
import { cannotWrite, kindOf, openByteOutput, refuseExisting } from './write-lines.ts'

export interface ByteWriter {
  /** Resolves when there is room for more. */
  write(bytes: Uint8Array): Promise<void>
  /** Resolves when everything is written, and a file has its name. */
  end(): Promise<void>
  /** After a failure: removes a file that is not whole. SIGINT and SIGTERM do the same. */
  abandon(): void
}

export const writeBytesToStdout = (): ByteWriter => ({
  write: openByteOutput(),
  async end() {},
  abandon() {},
})

/**
 * A file. It is written under another name and renamed when it is whole and synced. A pipe or a device is written to
 * directly. An existing file is replaced only if `replaces` is true.
 */
export const writeBytesToFile = (file: string, { replaces }: { replaces: boolean }): ByteWriter => {
  const special = kindOf(file) === 'special'
  if (!replaces) refuseExisting(file)
  // Of this process only: two downloads to one name would mix their bytes.
  const path = special ? file : `${file}.${process.pid}.partial`
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
  const onSignal = (signal: NodeJS.Signals): void => {
    abandon()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  const stopListening = (): void => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  // Before the file is there: a signal right after that would leave it behind.
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    descriptor = openSync(path, 'w')
  } catch (error) {
    stopListening()
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
