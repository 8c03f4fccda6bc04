import { once } from 'node:events'
import { createWriteStream, lstatSync, rmSync, statSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { OperatorError } from '../../core/operator-error.ts'
import { printableJson } from '../../core/text/printable.ts'
import { openNew } from '../../files/open-new.ts'
import { moveIntoPlace } from '../../files/sync.ts'
import { outputClosed } from '../print.ts'
import { minifyJson } from './ndjson.ts'

export interface LineWriter {
  /** Resolves when there is room for more. Each text ends in a line feed. */
  write(text: string): Promise<void>
  /** Resolves when everything is written, and a file has its name. */
  end(): Promise<void>
  /** Removes a file that is not whole, after a failure. */
  abandon(): void
}

/** Texts are joined up to this size before they are written: a system call per line would cost more than the line. */
const bufferCharacters = 128 * 1024

const buffered = (put: (text: string) => Promise<void>) => {
  let texts = ''
  const flush = async (): Promise<void> => {
    const full = texts
    texts = ''
    if (full !== '') await put(full)
  }
  const write = async (text: string): Promise<void> => {
    texts += text
    if (texts.length >= bufferCharacters) await flush()
  }
  return { write, flush }
}

/** Resolves when there is room for more. Throws OperatorError when the reader has closed the output, as `head` does. */
const put = (content: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(content, (error) => {
      if (error === null || error === undefined) resolve()
      else if ((error as { code?: string }).code !== 'EPIPE') reject(error)
      else reject(new OperatorError(outputClosed))
    })
  })

/**
 * Standard output, for lines of JSON. Throws OperatorError when the reader closes it, as `head` does. A file or a pipe gets
 * the text of records unchanged. A terminal would obey the control characters in it, so it gets escapes instead.
 */
export const writeToStdout = (): LineWriter => {
  const { write, flush } = buffered((text) => put(process.stdout.isTTY ? printableJson(text) : text))
  return { write, end: flush, abandon: () => {} }
}

/** Standard output, for bytes that are no text. It must not be a terminal. */
export const putToStdout = (bytes: Uint8Array): Promise<void> => put(bytes)

/** One text and a line feed. */
export const writeTextToStdout = async (text: string): Promise<void> => {
  const out = writeToStdout()
  await out.write(`${text}\n`)
  await out.end()
}

/** A task or a run in one line. Its payload is as it was sent, and may have line breaks between its members. */
export const printObject = (text: string): Promise<void> => writeTextToStdout(minifyJson(text))

/** Objects as JSON texts, each in one line. */
export const printObjects = async (pages: AsyncIterable<string[]>): Promise<void> => {
  const out = writeToStdout()
  for await (const texts of pages) for (const text of texts) await out.write(`${minifyJson(text)}\n`)
  await out.end()
}

export const cannotWrite = (file: string, error: Error): OperatorError =>
  new OperatorError(`${file} cannot be written: ${error.message}`)

export const refuseExisting = (file: string): void => {
  const kind = kindOf(file)
  // A link that leads nowhere would be replaced too.
  if (kind !== 'file' && !(kind === 'nothing' && isLink(file))) return
  throw new OperatorError(`${file} exists and is not overwritten; --force replaces it`)
}

/**
 * A file, compressed if its name ends in `.gz`. It is written under another name and renamed when it is whole and synced,
 * so that half an export is never mistaken for a whole one. A pipe or a device is written to directly. An existing file is
 * replaced only if `replaces` is true.
 */
export const writeToFile = (file: string, { replaces }: { replaces: boolean }): LineWriter => {
  const special = kindOf(file) === 'special'
  if (!replaces) refuseExisting(file)
  const path = special ? file : `${file}.partial`
  const out = special ? createWriteStream(path) : createWriteStream(path, { fd: openPrivate(path, file) })
  const gzip = file.endsWith('.gz') ? createGzip() : undefined
  const entry: Writable = gzip ?? out
  const done = gzip === undefined ? once(out, 'close') : pipeline(gzip, out)
  let failure: Error | undefined
  done.catch((error: Error) => {
    failure = error
  })
  const { write, flush } = buffered(async (text) => {
    if (failure !== undefined) throw cannotWrite(file, failure)
    if (!entry.write(text)) await Promise.race([once(entry, 'drain'), done]).catch(() => {})
  })
  return {
    write,
    async end() {
      await flush()
      entry.end()
      await done.catch(() => {})
      if (failure !== undefined) throw cannotWrite(file, failure)
      if (special) return
      // Someone may have created it in the meantime.
      if (!replaces) refuseExisting(file)
      try {
        moveIntoPlace(path, file)
      } catch (error) {
        throw cannotWrite(file, error as Error)
      }
    },
    abandon() {
      out.destroy()
      if (!special) rmSync(path, { force: true })
    },
  }
}

/** Readable by its owner only: it will hold records. */
const openPrivate = (path: string, file: string): number => {
  try {
    return openNew(path, 0o600)
  } catch (error) {
    throw cannotWrite(file, error as Error)
  }
}

const isLink = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true

export const kindOf = (file: string): 'nothing' | 'file' | 'special' => {
  try {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat === undefined) return 'nothing'
    return stat.isFile() ? 'file' : 'special'
  } catch (error) {
    throw cannotWrite(file, error as Error)
  }
}
