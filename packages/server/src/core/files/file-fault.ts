import { CubbyError } from '../errors.ts'
import { isBlobId, isStoreBlobId } from './blob-id.ts'
import { isSha256 } from './content-digest.ts'
import { parseContentType } from './content-type.ts'
import { parseFileName } from './file-name.ts'
import type { FileContent } from './file-record.ts'

/**
 * Returns why a stored file is none that a request could have made; undefined if it could. A store may have been written by
 * somebody else, and paths are made of digests and ids of blobs.
 */
export const fileFault = (
  file: Pick<FileContent, 'size' | 'sha256' | 'blob' | 'contentType'> & { name: string },
): string | undefined => {
  const { name, size, sha256, blob, contentType } = file
  try {
    parseFileName(name)
    parseContentType(contentType)
  } catch (error) {
    if (error instanceof CubbyError) return `its ${error.message}`
    throw error
  }
  if (!isSha256(sha256)) return `its digest is ${JSON.stringify(sha256)}, which is no SHA-256`
  if (!isBlobId(blob) && !isStoreBlobId(blob)) return `its blob is ${JSON.stringify(blob)}, which is no id of a blob`
  return Number.isSafeInteger(size) && size >= 0 ? undefined : `its size is ${JSON.stringify(size)}`
}
