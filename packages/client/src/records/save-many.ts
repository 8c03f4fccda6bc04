import { CubbyError, SaveError } from '../transport/errors.ts'
import type { RequestOptions } from '../transport/transport.ts'
import type { RecordKey } from '../transport/wire.ts'
import { noRangeKey } from './record-key.ts'

/** A run of the given records that went, or would have gone, in one atomic request. */
export interface SavedChunk {
  /** The index of its first record. */
  from: number
  /** The index after its last record. */
  to: number
  /**
   * `applied`: all of it. `failed`: none of it, for `error`. `unknown`: all or none, and no answer told which.
   * `unsent`: none of it.
   */
  status: 'applied' | 'failed' | 'unknown' | 'unsent'
  error?: unknown
}

export interface SaveResult {
  /** How many records were applied for certain. */
  saved: number
  /** In the order of the records, without gaps. */
  chunks: SavedChunk[]
}

export interface SaveProgress {
  saved: number
  total: number
  /** The one that was just applied. */
  chunk: SavedChunk
}

export interface SaveManyOptions extends RequestOptions {
  /** Requests under way at once: 4. */
  concurrency?: number
  onProgress?: (progress: SaveProgress) => void
}

/** One operation of a batch, ready to send. */
export interface WrittenOperation {
  key: RecordKey
  /** JSON text. */
  json: string
  /** It names the version it replaces. */
  guarded: boolean
}

export const chunkOperationsMax = 25
export const chunkBytesMax = 12 * 1024 * 1024

const encoder = new TextEncoder()

interface Chunk {
  from: number
  operations: WrittenOperation[]
  slots: Set<string>
}

/** The next run from `from` on: no more operations or bytes than a batch takes, and no key twice. */
const takeChunk = <R>(records: readonly R[], from: number, write: (record: R) => WrittenOperation): Chunk => {
  const chunk: Chunk = { from, operations: [], slots: new Set() }
  // Each operation counts its comma; the first has none.
  let bytes = batchBody([]).length - 1
  for (let i = from; i < records.length && i - from < chunkOperationsMax; i++) {
    const operation = write(records[i]!)
    const slot = JSON.stringify([operation.key.hashKey, operation.key.rangeKey ?? noRangeKey])
    bytes += encoder.encode(operation.json).length + 1
    // A record too large for any request goes alone, for the server to say so.
    if (i > from && (bytes > chunkBytesMax || chunk.slots.has(slot))) break
    chunk.operations.push(operation)
    chunk.slots.add(slot)
  }
  return chunk
}

export const batchBody = (operations: WrittenOperation[]): string =>
  `{"operations":[${operations.map(({ json }) => json).join()}]}`

const statusOf = (error: unknown): SavedChunk['status'] =>
  error instanceof CubbyError && error.code !== 'outcome_unknown' ? 'failed' : 'unknown'

/**
 * Chunks start in order, some at once; one that shares a key with a chunk under way waits for it, so that the later
 * record of a key wins. The first failure stops what has not started.
 */
export const saveMany = async <R>(
  records: readonly R[],
  write: (record: R) => WrittenOperation,
  send: (operations: WrittenOperation[]) => Promise<unknown>,
  { concurrency = 4, onProgress, signal }: SaveManyOptions,
): Promise<SaveResult> => {
  signal?.throwIfAborted()
  const result: SaveResult = { saved: 0, chunks: [] }
  const underWay = new Map<Promise<void>, Set<string>>()
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
    const sharesKey = () => [...underWay.values()].some((slots) => [...slots].some((slot) => chunk.slots.has(slot)))
    while (underWay.size > 0 && (underWay.size >= concurrency || sharesKey())) await Promise.race(underWay.keys())
    if (failure) break
    const to = from + chunk.operations.length
    const saved: SavedChunk = { from, to, status: 'unsent' }
    result.chunks.push(saved)
    const running = run(chunk.operations, saved).then(() => void underWay.delete(running))
    underWay.set(running, chunk.slots)
    from = to
  }
  await Promise.all(underWay.keys())
  if (from < records.length) result.chunks.push({ from, to: records.length, status: 'unsent' })
  if (!failure) return result
  const { error } = failure
  const code = error instanceof CubbyError ? error.code : signal?.aborted ? 'outcome_unknown' : 'invalid_request'
  throw new SaveError(code, result, error)
}
