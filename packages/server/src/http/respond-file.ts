import type { FileContent } from '../core/files/file-record.ts'
import type { BlobPlace } from '../store/blob-place.ts'
import type { Exchange } from './exchange.ts'

/** The request for the bytes of a file: the exchange of a route with a key, or what the door `/files` has instead. */
export type FileRequest = Pick<Exchange, 'request' | 'requestId' | 'streamOf'>

export interface ServedFile {
  readonly name: string
  readonly content: FileContent
  readonly updatedAtMs: number
}

export interface ServedAs {
  readonly cacheControl: string
  /** Browsers save the file: under its own name, or under this one. */
  readonly download?: true | string
}

/**
 * The bytes of a file: 200, 206, 304, and the answer to HEAD. Throws `precondition_failed`, `range_not_satisfiable`,
 * `store_damaged` if the place does not have the bytes, and `unavailable`. Reads conditions and the range from the request.
 */
export const respondFile = async (
  _request: FileRequest,
  _file: ServedFile,
  _place: BlobPlace,
  _as: ServedAs,
): Promise<Response> => {
  throw new Error('not there yet')
}
