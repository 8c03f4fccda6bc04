import type { RequestOptions } from '../transport/transport.ts'
import type { LoadResponse } from '../transport/wire.ts'
import type { SaveRecord } from './typed-table.ts'

type Source<Item> = Iterable<Item> | AsyncIterable<Item> | ReadableStream<Item>

/** Records, or the bytes of lines of JSON, one put `{ hashKey, rangeKey?, data, ttl? }` in each line, cut anywhere. */
export type LoadSource<Data> = Source<SaveRecord<Data>> | Source<Uint8Array>

/** A request without an answer is always sent again, also without `repeatWrites`. */
export interface LoadOptions extends RequestOptions {
  /** The first line that is refused ends the load with a `LoadError`; with `skip` such lines are left out. Default `stop`. */
  onError?: 'stop' | 'skip'
  /** Leaves records that exist as they are. */
  ifAbsent?: boolean
  /** Called after each request with the counts of all requests so far. */
  onProgress?: (progress: LoadResponse) => void
}
