import { fileUrl } from '../../core/files/file-url.ts'
import type { StoredFile } from './file-access.ts'

/** Members that only some answers have. */
interface More {
  urlExpiresAtMs?: number
}

/** The record of a file as it is sent. The metadata is the stored text: never parsed, never stringified. */
export const fileJson = (
  { name, content, ttlSeconds, updatedAtMs }: StoredFile,
  url: string | null,
  { urlExpiresAtMs }: More = {},
): string => {
  const { size, contentType, visibility, sha256, metadata } = content
  const head = JSON.stringify({ name, size, contentType, visibility, sha256 })
  const ttl = ttlSeconds === null ? '' : `,"ttl":${ttlSeconds}`
  const expiry = urlExpiresAtMs === undefined ? '' : `,"urlExpiresAt":${urlExpiresAtMs}`
  return `${head.slice(0, -1)},"metadata":${metadata}${ttl},"updatedAt":${updatedAtMs},"url":${JSON.stringify(url)}${expiry}}`
}

/** The permanent URL of a public file; null for a private one. Without a base it is a path. */
export const permanentUrl = ({ bucketId, name, content }: StoredFile, base = ''): string | null =>
  content.visibility === 'public' ? fileUrl(base, bucketId, name) : null

/** `base`: the address at which the server is reached, if it is known. */
export const presentFile = (file: StoredFile, base?: string): string => fileJson(file, permanentUrl(file, base))
