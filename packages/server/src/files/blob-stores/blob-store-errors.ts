import { CubbyError } from '../../core/errors.ts'
import { codeOf } from './file-calls.ts'

/** Returns what callers and clients learn of an error of the directory. Its text and paths are for the log. */
export const blobStoreError = (error: unknown): CubbyError => {
  if (error instanceof CubbyError) return error
  const cause = `files: ${error instanceof Error ? error.message : String(error)}`
  const code = codeOf(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new CubbyError('storage_full', 'There is no space left for files; nothing was applied.', {
      hint: 'Reads still work. Repeat the request once there is room.',
      cause,
    })
  }
  return blobStoreUnavailable(cause)
}

export const blobStoreUnavailable = (cause: string): CubbyError =>
  new CubbyError('unavailable', 'The place of the files cannot be used now; nothing was applied.', { cause })
