import { tmpdir } from 'node:os'
import { CubbyError } from '../../core/errors.ts'
import { blobPath, isBlobId } from '../../core/files/blob-id.ts'
import type { Log } from '../../core/log.ts'
import { BlobMissing, type BlobStore, BlobStoreRefused, type BlobWriter } from '../../store/blob-store.ts'
import { openDownload } from './s3/download.ts'
import { isMissing, isOtherRange, lacksConditions, S3Failure, toCallersError, toStartError } from './s3/failure.ts'
import { defaultTiming, type Payload, S3Requests, type Timing } from './s3/requests.ts'
import { describeS3, type Environment, readS3Settings, type S3Settings } from './s3/settings.ts'
import { removeLeftovers, Spool } from './s3/spool.ts'
import { S3Writer } from './s3/writer.ts'

export interface S3Options {
  /** The directory of uploads until they are sent; the system's directory for temporary files by default. */
  spoolDirectory?: string
  /** Tests set other times. */
  timing?: Partial<Timing>
}

/** The name is not the path of a blob: those begin with a directory of five hex digits. */
const markName = 'cubby-mark'

/**
 * Makes the place `s3://BUCKET/PREFIX`, with the credentials in the variables AWS_… of `env`, and sends nothing yet. Throws
 * OperatorError if a variable is missing or malformed.
 */
export const makeS3BlobStore = (
  url: string,
  env: Environment,
  log: Log = () => {},
  { spoolDirectory = tmpdir(), timing }: S3Options = {},
): S3BlobStore => {
  const settings = readS3Settings(url, env)
  const isLocal = /^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/.test(settings.endpoint)
  if (settings.endpoint.startsWith('http:') && !isLocal) {
    log('warn', 'the connection to S3 is not encrypted; give AWS_ENDPOINT_URL an https address')
  }
  return new S3BlobStore(settings, { ...defaultTiming, ...timing }, spoolDirectory, log)
}

/**
 * The same, and throws OperatorError if the place cannot be used: there is no such bucket, access is denied, it does not
 * answer.
 */
export const openS3BlobStore = async (
  url: string,
  env: Environment,
  log?: Log,
  options?: S3Options,
): Promise<BlobStore> => {
  const blobStore = makeS3BlobStore(url, env, log, options)
  await blobStore.probe()
  return blobStore
}

const trySpool = async (directory: string): Promise<void> => {
  try {
    await removeLeftovers(directory, Date.now())
    await (await Spool.open(directory)).close()
  } catch (error) {
    const cause = error instanceof CubbyError ? error.cause : (error as Error).message
    throw new BlobStoreRefused(
      `uploads need a directory for temporary files, and ${directory} is none (${cause}); set TMPDIR`,
    )
  }
}

class S3BlobStore implements BlobStore {
  readonly description: string
  readonly #settings: S3Settings
  readonly #requests: S3Requests
  readonly #spoolDirectory: string
  #isProbing = false

  constructor(settings: S3Settings, timing: Timing, spoolDirectory: string, log: Log) {
    this.description = describeS3(settings)
    this.#settings = settings
    // A failure of a probe is thrown, and needs no line in the log.
    this.#requests = new S3Requests(settings, timing, (...line) => this.#isProbing || log(...line))
    this.#spoolDirectory = spoolDirectory
  }

  mayWriteLate(): boolean {
    return true
  }

  async probe(): Promise<void> {
    await trySpool(this.#spoolDirectory)
    this.#isProbing = true
    try {
      await this.#getMark()
    } catch (error) {
      throw toStartError(error, this.#settings)
    } finally {
      this.#isProbing = false
    }
  }

  async write(id: string): Promise<BlobWriter> {
    const spool = await Spool.open(this.#spoolDirectory)
    return new S3Writer(spool, (payload, signal) =>
      this.#requests.sendSmall({ method: 'PUT', name: objectName(id), payload }, signal),
    )
  }

  async read(id: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>> {
    // S3 has no range for this. An empty file must still be there.
    if (start === end) {
      if ((await this.size(id)) === undefined) throw new BlobMissing(id, this.description)
      return (async function* () {})()
    }
    return asCaller(
      openDownload(this.#requests, { name: objectName(id), start, end }).catch(async (error) => {
        const isLost = isMissing(error) || (isOtherRange(error) && ((await this.size(id)) ?? 0) < end)
        throw isLost ? new BlobMissing(id, this.description) : error
      }),
    )
  }

  size(id: string): Promise<number | undefined> {
    return asCaller(
      unlessMissing(async () => {
        const { headers } = await this.#requests.sendSmall({ method: 'HEAD', name: objectName(id) })
        const length = headers.get('content-length')
        if (length === null) throw new S3Failure('S3 answered HEAD without a Content-Length', { status: 200 })
        return Number(length)
      }),
    )
  }

  async remove(id: string): Promise<void> {
    await asCaller(unlessMissing(() => this.#requests.sendSmall({ method: 'DELETE', name: objectName(id) })))
  }

  readMark(): Promise<string | undefined> {
    return asCaller(this.#getMark())
  }

  writeMark(mark: string, how?: 'replace'): Promise<string> {
    return asCaller(this.#putMark(mark, how))
  }

  async close(): Promise<void> {
    this.#requests.close()
  }

  async #getMark(): Promise<string | undefined> {
    const response = await unlessMissing(() => this.#requests.sendSmall({ method: 'GET', name: markName }))
    return response?.text.trim()
  }

  /** S3 keeps the first mark of several writers. Servers that do not know the condition may keep the last one. */
  async #putMark(mark: string, how?: 'replace'): Promise<string> {
    const found = await this.#getMark()
    if (found !== undefined && how === undefined) return found
    const request = { method: 'PUT', name: markName, payload: textPayload(mark) } as const
    try {
      await this.#requests.sendSmall(how === 'replace' ? request : { ...request, headers: { 'if-none-match': '*' } })
    } catch (error) {
      if (!(error instanceof S3Failure)) throw error
      if (lacksConditions(error)) await this.#requests.sendSmall(request)
      else if (error.status !== 412) throw error
    }
    const written = await this.#getMark()
    if (written === undefined) throw new S3Failure('S3 does not return an object that it has stored')
    return written
  }
}

const objectName = (id: string): string => {
  if (!isBlobId(id)) throw new Error(`not the id of a blob: ${id}`)
  return blobPath(id)
}

const textPayload = (text: string): Payload => ({
  bytes: Buffer.byteLength(text),
  sha256: new Bun.CryptoHasher('sha256').update(text).digest('hex'),
  open: () => text,
})

const unlessMissing = <T>(request: () => Promise<T>): Promise<T | undefined> =>
  request().catch((error) => {
    if (isMissing(error)) return undefined
    throw error
  })

const asCaller = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error) => {
    throw error instanceof S3Failure ? toCallersError(error) : error
  })
