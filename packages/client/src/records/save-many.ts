import { type BatchPart, batchBody } from '../transport/batch.ts'
import type { ErrorCode } from '../transport/error-codes.ts'
import { CubbyError, type ErrorDetails } from '../transport/errors.ts'
import type { RequestOptions } from '../transport/transport.ts'
import type { RecordKey } from '../transport/wire.ts'
import { noRangeKey } from './record-key.ts'

/** Consecutive records that are sent in one atomic request. */
export interface SavedChunk {
  /** The index of its first record. */
  from: number
  /** The index after its last record. */
  to: number
  /**
   * `applied`: all records. `failed`: none, because of `error`. `unknown`: all or none; no response said which.
   * `unsent`: none; the chunk was not sent.
   */
  status: 'applied' | 'failed' | 'unknown' | 'unsent'
  error?: unknown
}

export interface SaveResult {
  /** The number of records that are known to be applied. */
  saved: number
  /** Chunks in the order of the records, without gaps. */
  chunks: SavedChunk[]
}

/**
 * `save` of many records failed. It has the code and details of the first failure. `cause` is that failure, or the
 * signal's reason. `result` has the status of each chunk. `operations[3]` in `field` is the fourth record of the chunk
 * that failed.
 */
export class SaveError extends CubbyError {
  /** @internal */
  static override readonly name: string = 'SaveError'
  override readonly name = 'SaveError'
  readonly result: SaveResult

  constructor(code: ErrorCode, result: SaveResult, cause: unknown) {
    super(code, (cause as Error)?.message ?? String(cause), { ...(cause as ErrorDetails), cause })
    this.result = result
  }
}

export interface SaveProgress {
  saved: number
  total: number
  /** The chunk that was just applied. */
  chunk: SavedChunk
}

export interface SaveManyOptions extends RequestOptions {
  /** The number of requests that may be in flight. Default 4. */
  concurrency?: number
  onProgress?: (progress: SaveProgress) => void
}

/** One operation of a batch of records, ready to send. */
export interface WrittenOperation extends BatchPart {
  key: RecordKey
}

const chunkOperationsMax = 25
const chunkBytesMax = 12 * 1024 * 1024

const encoder = new TextEncoder()

interface Chunk {
  from: number
  operations: WrittenOperation[]
  slots: Set<string>
}

/** The next chunk, starting at `from`: at most what one batch may hold, and no key twice. */
const takeChunk = <R>(records: readonly R[], from: number, write: (record: R) => WrittenOperation): Chunk => {
  const chunk: Chunk = { from, operations: [], slots: new Set() }
  // Each operation is counted with a comma, but the first has none.
  let bytes = batchBody([]).length - 1
  for (let i = from; i < records.length && i - from < chunkOperationsMax; i++) {
    const operation = write(records[i]!)
    const slot = JSON.stringify([operation.key.hashKey, operation.key.rangeKey ?? noRangeKey])
    bytes += encoder.encode(operation.json).length + 1
    // A record that is too large for any request is sent alone, so that the server rejects it with the right error.
    if (i > from && (bytes > chunkBytesMax || chunk.slots.has(slot))) break
    chunk.operations.push(operation)
    chunk.slots.add(slot)
  }
  return chunk
}

const statusOf = (error: unknown): SavedChunk['status'] =>
  error instanceof CubbyError && error.code !== 'outcome_unknown' ? 'failed' : 'unknown'

/**
 * Sends chunks in order, several at once. A chunk that shares a key with a chunk in flight waits for it, so that the
 * later record of a key wins. After the first failure no further chunk is sent.
 */
export const saveMany = async <R>(
  records: readonly R[],
  write: (record: R) => WrittenOperation,
  send: (operations: WrittenOperation[]) => Promise<unknown>,
  { concurrency = 4, onProgress, signal }: SaveManyOptions,
): Promise<SaveResult> => {
  signal?.throwIfAborted()
  const result: SaveResult = { saved: 0, chunks: [] }
  const inFlight = new Map<Promise<void>, Set<string>>()
  let failure: { error: unknown } | undefined
  const fail = (error: unknown) => {
    failure ??= { error }
  }

  const run = async (operations: WrittenOperation[], chunk: SavedChunk): Promise<void> => {
    try {
      await send(operations)
      chunk.status = 'applied'
      result.saved += operations.length
    } catch (error) {
      chunk.status = statusOf(error)
      chunk.error = error
      fail(error)
      return
    }
    try {
      onProgress?.({ saved: result.saved, total: records.length, chunk })
    } catch (error) {
      fail(error)
    }
  }

  let from = 0
  while (from < records.length && !failure) {
    let chunk: Chunk
    try {
      chunk = takeChunk(records, from, write)
    } catch (error) {
      fail(error)
      break
    }
    const sharesKey = () => [...inFlight.values()].some((slots) => [...slots].some((slot) => chunk.slots.has(slot)))
    while (inFlight.size > 0 && (inFlight.size >= concurrency || sharesKey())) await Promise.race(inFlight.keys())
    if (failure) break
    const to = from + chunk.operations.length
    const saved: SavedChunk = { from, to, status: 'unsent' }
    result.chunks.push(saved)
    const running = run(chunk.operations, saved).then(() => void inFlight.delete(running))
    inFlight.set(running, chunk.slots)
    from = to
  }
  await Promise.all(inFlight.keys())
  if (from < records.length) result.chunks.push({ from, to: records.length, status: 'unsent' })
  if (!failure) return result
  const { error } = failure
  const code = error instanceof CubbyError ? error.code : signal?.aborted ? 'outcome_unknown' : 'invalid_request'
  throw new SaveError(code, result, error)
}
