import { CubbyError } from '../index.ts'
import type { LoadSource } from '../records/loading.ts'
import { ttlSeconds } from '../records/ttl.ts'
import type { SaveRecord } from '../records/typed-table.ts'
import { iteratorOf } from '../transport/iterator-of.ts'

/** The lines of one request. */
interface Part {
  body: string | Blob
  lines: number
}

const partLinesMax = 1_000
/** A part ends with the line that reaches this. */
const partUnitsMax = 1024 * 1024
/** The server refuses a line of half of this, so the rest of such a line is not sent. A part ends after it. */
const lineBytesMax = 2 * 1024 * 1024
const lineFeed = 0x0a
/** Minified, the escape would be a line break within a string, and the build breaks lines itself. */
const lineEnd = String.fromCharCode(lineFeed)

type Item = SaveRecord<never> | Uint8Array<ArrayBuffer>

/** Resolves or rejects as `work` does, or rejects with the signal's reason. */
const orAborted = <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

async function* itemsOf(source: LoadSource<never>, signal: AbortSignal | undefined): AsyncGenerator<Item, void> {
  const given = Object(source)
  if (Symbol.iterator in given) return yield* given
  if (!('getReader' in given || Symbol.asyncIterator in given)) {
    throw new CubbyError('invalid_request', 'records takes an array, an iterable, an async iterable or a stream.', {
      field: 'records',
    })
  }
  const items = iteratorOf<Item>(given)
  try {
    for (;;) {
      const { done, value } = await orAborted(items.next(), signal)
      if (done) return
      yield value as Item
    }
  } finally {
    // Nobody waits for it: the source may be stuck.
    items.return?.().then(undefined, () => {})
  }
}

const lineOf = (record: SaveRecord<never> & { updatedAt?: number }): string => {
  if (typeof record !== 'object' || record === null) {
    const message = `records has ${record === null ? 'null' : `a ${typeof record}`}; it takes records, or bytes as Uint8Array.`
    throw new CubbyError('invalid_request', message, { field: 'records' })
  }
  // As for `save`: unknown members are sent too, so that the server refuses them by name.
  const { updatedAt, ttl, ...fields } = record
  return `${JSON.stringify({ ...fields, ttl: ttlSeconds(ttl) })}${lineEnd}`
}

/** Collects the lines of one request. */
class PartWriter {
  #pieces: (string | Uint8Array<ArrayBuffer>)[] = []
  #units = 0
  /** The length of the line that has not ended. */
  #lineBytes = 0
  #lines = 0

  get isFull(): boolean {
    return this.#lineBytes === 0 && (this.#lines >= partLinesMax || this.#units >= partUnitsMax)
  }

  addRecord(record: SaveRecord<never>): void {
    const line = lineOf(record)
    this.#pieces.push(line)
    this.#units += line.length
    this.#lines++
  }

  /** Takes bytes until the part is full, and returns the rest. */
  addBytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    let rest = bytes
    while (rest.length > 0 && !this.isFull) {
      const end = rest.indexOf(lineFeed)
      const next = end < 0 ? rest.length : end + 1
      if (this.#lineBytes === 0) this.#lines++
      const room = Math.max(0, lineBytesMax - this.#lineBytes)
      this.#pieces.push(rest.subarray(0, Math.min(next, room)))
      this.#lineBytes = end < 0 ? this.#lineBytes + next : 0
      this.#units += next
      rest = rest.subarray(next)
    }
    return rest
  }

  /** Undefined if there is no line. */
  take(): Part | undefined {
    const pieces = this.#pieces
    const lines = this.#lines
    this.#pieces = []
    this.#units = 0
    this.#lines = 0
    if (lines === 0) return undefined
    const isText = pieces.every((piece) => typeof piece === 'string')
    return { body: isText ? pieces.join('') : new Blob(pieces), lines }
  }
}

/** Splits the source into requests of bounded size, which every browser can send, and which can be repeated. */
export async function* partsOf(source: LoadSource<never>, signal: AbortSignal | undefined): AsyncGenerator<Part, void> {
  const part = new PartWriter()
  for await (const item of itemsOf(source, signal)) {
    if (!ArrayBuffer.isView(item)) part.addRecord(item)
    else {
      for (let rest = part.addBytes(item); rest.length > 0; rest = part.addBytes(rest)) yield part.take()!
    }
    if (part.isFull) yield part.take()!
  }
  const last = part.take()
  if (last) yield last
}
