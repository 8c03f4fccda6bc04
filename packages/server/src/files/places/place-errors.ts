import { CubbyError } from '../../core/errors.ts'
import { codeOf } from './file-calls.ts'

/** What callers and clients learn of an error of the directory. Its text and paths are for the log. */
export const placeError = (error: unknown): CubbyError => {
  if (error instanceof CubbyError) return error
  const cause = `files: ${error instanceof Error ? error.message : String(error)}`
  const code = codeOf(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new CubbyError('storage_full', 'There is no space left for files; nothing was applied.', {
      hint: 'Reads still work. Repeat the request once there is room.',
      cause,
    })
  }
  return placeUnavailable(cause)
}

/** The place itself cannot be used, whatever the blob. */
export class PlaceUnusable extends CubbyError {
  constructor({ message, cause }: CubbyError) {
    super('unavailable', message, { cause: String(cause) })
  }
}

/** The same for an error of the directory in which blobs are made. */
export const unusablePlace = (error: unknown): CubbyError => {
  const known = placeError(error)
  return known.code === 'unavailable' ? new PlaceUnusable(known) : known
}

export const placeUnavailable = (cause: string): CubbyError =>
  new CubbyError('unavailable', 'The place of the files cannot be used now; nothing was applied.', { cause })
