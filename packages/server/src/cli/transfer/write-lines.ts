import { once } from 'node:events'
import { closeSync, createWriteStream, fchmodSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { syncDirectory } from '../../engines/sqlite/disk/store-files.ts'
import { CommandFailed } from '../command.ts'
import { printableJson } from '../printable.ts'

export interface LineWriter {
  /** Resolves when there is room for more. Each text ends in a line feed. */
  write(text: string): Promise<void>
  /** All is written, and a file is in its place. */
  end(): Promise<void>
  /** Something went wrong: a file that is not whole does not take its place. */
  abandon(): void
}

/** Texts gathered before they are handed on: a system call a line would cost more than the line. */
const gatherCharacters = 128 * 1024

const gathered = (put: (text: string) => Promise<void>) => {
  let texts = ''
  const flush = async (): Promise<void> => {
    const full = texts
    texts = ''
    if (full !== '') await put(full)
  }
  const write = async (text: string): Promise<void> => {
    texts += text
    if (texts.length >= gatherCharacters) await flush()
  }
  return { write, flush }
}

export class OutputClosed extends CommandFailed {
  constructor() {
    super('whoever read the output has gone')
  }
}

/**
 * Standard output, for lines of JSON. Throws OutputClosed when its reader goes away, as `head` does. A file or a pipe gets
 * the text of records as it was put; a terminal, which would obey the control characters in it, the same with escapes.
 */
export const writeToStdout = (): LineWriter => {
  // The callback tells of the failure; without a listener it would be reported a second time.
  process.stdout.on('error', () => {})
  const { write, flush } = gathered(
    (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(process.stdout.isTTY ? printableJson(text) : text, (error) => {
          if (error === null || error === undefined) resolve()
          else reject((error as { code?: string }).code === 'EPIPE' ? new OutputClosed() : error)
        })
      }),
  )
  return { write, end: flush, abandon: () => {} }
}

/**
 * A file, packed if its name ends in `.gz`. It is written beside its place and moved there when it is whole and synced,
 * so that nobody takes half an export for one. What is no plain file (a pipe, a device) is written to as it is.
 */
export const writeToFile = (file: string): LineWriter => {
  const failed = (error: Error): CommandFailed => new CommandFailed(`${file} cannot be written: ${error.message}`)
  const special = isSpecial(file, failed)
  const path = special ? file : `${file}.partial`
  const out = special ? createWriteStream(path) : createWriteStream(path, { fd: openPrivate(path, failed) })
  const gzip = file.endsWith('.gz') ? createGzip() : undefined
  const entry: Writable = gzip ?? out
  const done = gzip === undefined ? once(out, 'close') : pipeline(gzip, out)
  let failure: Error | undefined
  done.catch((error: Error) => {
    failure = error
  })
  const { write, flush } = gathered(async (text) => {
    if (failure !== undefined) throw failed(failure)
    if (!entry.write(text)) await Promise.race([once(entry, 'drain'), done]).catch(() => {})
  })
  return {
    write,
    async end() {
      await flush()
      entry.end()
      await done.catch(() => {})
      if (failure !== undefined) throw failed(failure)
      if (special) return
      const synced = openSync(path, 'r')
      fsyncSync(synced)
      closeSync(synced)
      renameSync(path, file)
      syncDirectory(dirname(resolve(file)))
    },
    abandon() {
      out.destroy()
      if (!special) rmSync(path, { force: true })
    },
  }
}

/** For its owner alone: it will hold records. */
const openPrivate = (path: string, failed: (error: Error) => CommandFailed): number => {
  try {
    const descriptor = openSync(path, 'w', 0o600)
    // One that an interrupted export left behind.
    fchmodSync(descriptor, 0o600)
    return descriptor
  } catch (error) {
    throw failed(error as Error)
  }
}

const isSpecial = (file: string, failed: (error: Error) => CommandFailed): boolean => {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isFile() === false
  } catch (error) {
    throw failed(error as Error)
  }
}
