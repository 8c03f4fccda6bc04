import { createReadStream, statSync } from 'node:fs'
import { OperatorError } from '../../core/operator-error.ts'
import { type Remote, withoutLineEnd } from '../target/remote.ts'
import { IdleLimit } from './idle-limit.ts'
import { Progress } from './progress.ts'

/** The bytes of a file to upload. */
interface UploadSource {
  /** undefined if it is not known: of a pipe, for example. */
  size: number | undefined
  /** True if the bytes can be read a second time. */
  repeatable: boolean
  read(): AsyncIterable<Uint8Array>
}

/** `-` is standard input. */
export const openUploadSource = (file: string): UploadSource => {
  if (file === '-') return { size: undefined, repeatable: false, read: () => Bun.stdin.stream() }
  try {
    const stat = statSync(file)
    if (stat.isDirectory()) throw new Error('it is a directory')
    // Files of /proc have bytes, but say that they are empty.
    const size = stat.size || undefined
    return { size, repeatable: stat.isFile(), read: () => readFile(file, stat.isCharacterDevice()) }
  } catch (error) {
    throw cannotRead(file, error as Error)
  }
}

const cannotRead = (file: string, error: Error): OperatorError =>
  new OperatorError(`${file} cannot be read: ${error.message}`)

async function* readFile(file: string, isDevice: boolean): AsyncIterable<Uint8Array> {
  try {
    // Bun cannot wait for /dev/null.
    yield* isDevice ? createReadStream(file) : Bun.file(file).stream()
  } catch (error) {
    throw cannotRead(file, error as Error)
  }
}

interface Upload {
  path: string
  headers: Record<string, string>
  source: UploadSource
}

/** A place may still have to send the bytes on after the last one has arrived. */
const idleMsMax = 10 * 60_000

const changed = (): OperatorError => new OperatorError('the file changed while it was read; nothing was stored')

/** Sends the bytes; the server's answer. Throws if the server has stored other bytes than were read. */
export const upload = async (remote: Remote, { path, headers, source }: Upload): Promise<string> => {
  const { size } = source
  const progress = new Progress('byte')
  const idle = new IdleLimit(idleMsMax, 'it makes no progress')
  let hash = new Bun.CryptoHasher('sha256')
  let failure: unknown
  async function* body(): AsyncIterable<Uint8Array> {
    hash = new Bun.CryptoHasher('sha256')
    let sent = 0
    try {
      for await (const chunk of source.read()) {
        hash.update(chunk)
        sent += chunk.length
        if (sent > (size ?? sent)) throw changed()
        idle.progress()
        progress.show(sent, () => size && sent / size)
        yield chunk
      }
      // The server would wait for the rest of the length that was declared.
      if (sent < (size ?? sent)) throw changed()
    } catch (error) {
      failure = error
      throw error
    }
  }
  const length: Record<string, string> = size === undefined ? {} : { 'content-length': String(size) }
  try {
    const response = await remote.exchangeBytes({
      method: 'PUT',
      path,
      headers: { ...headers, ...length },
      body,
      repeatable: false,
      attemptsMax: source.repeatable ? undefined : 1,
      signal: idle.signal,
    })
    const answer = withoutLineEnd(await response.text())
    const { sha256 } = JSON.parse(answer)
    if (sha256 === hash.digest('hex')) return answer
  } catch (error) {
    throw failure ?? error
  } finally {
    progress.clear()
    idle.stop()
  }
  throw new OperatorError('the server has stored other bytes than those that were sent; send the file again')
}
