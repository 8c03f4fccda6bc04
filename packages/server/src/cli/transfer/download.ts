import { OperatorError } from '../../core/operator-error.ts'
import type { Remote } from '../target/remote.ts'
import { IdleLimit } from './idle-limit.ts'
import { Progress } from './progress.ts'
import type { ByteWriter } from './write-bytes.ts'

const idleMsMax = 60_000

interface Download {
  path: string
  /** The size for the line of progress: the bytes arrive without their length. */
  size: number | undefined
  /** The bytes themselves go to the terminal: a line of progress would erase them. */
  isOnTerminal: boolean
  openOutput: () => ByteWriter
}

/** Receives the bytes of a file. Throws if they are not those that were uploaded: a proxy may have cut them. */
export const download = async (remote: Remote, { path, size, isOnTerminal, openOutput }: Download): Promise<void> => {
  const idle = new IdleLimit(idleMsMax, `no byte has arrived for ${idleMsMax / 1000} s`)
  const progress = new Progress('byte')
  let out: ByteWriter | undefined
  try {
    const { signal } = idle
    const response = await remote.exchangeBytes({ method: 'GET', path, headers: {}, repeatable: true, signal })
    const sha256 = /^"([0-9a-f]{64})"$/.exec(response.headers.get('etag') ?? '')?.[1]
    if (sha256 === undefined)
      throw new OperatorError(`${remote.url} answered, but not as Cubby does; is it a Cubby server?`)
    const hash = new Bun.CryptoHasher('sha256')
    let received = 0
    // The output is opened now and not earlier: an error leaves no file, and an existing one as it is.
    out = openOutput()
    for await (const chunk of receive(response, remote.url)) {
      hash.update(chunk)
      idle.stop()
      await out.write(chunk)
      received += chunk.length
      if (!isOnTerminal) progress.show(received, () => size && received / size)
      idle.progress()
    }
    if (hash.digest('hex') !== sha256)
      throw new OperatorError('the bytes that arrived are not those of the file; try again')
    await out.end()
  } catch (error) {
    out?.abandon()
    throw error
  } finally {
    progress.clear()
    idle.stop()
  }
}

async function* receive({ body }: Response, url: string): AsyncIterable<Uint8Array> {
  if (body === null) return
  const chunks = body[Symbol.asyncIterator]()
  for (;;) {
    let next: IteratorResult<Uint8Array>
    try {
      next = await chunks.next()
    } catch (error) {
      throw new OperatorError(`the answer of ${url} broke off: ${(error as Error).message.replace(/\.$/, '')}`)
    }
    if (next.done === true) return
    yield next.value
  }
}
