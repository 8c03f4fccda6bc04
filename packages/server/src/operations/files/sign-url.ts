import { type SignedMethod, type SignedTarget, signedFileUrl } from '../../core/files/signed-url.ts'
import type { Access } from '../access.ts'

/** A URL below the address at which the server is reached. */
export interface FileUrl {
  /** Path and query. */
  target: string
  method: SignedMethod
  /** null: it is permanent. */
  expiresAtMs: number | null
}

/** The signed URL of a file. It ends with the API key that signs it, at the latest. */
export const signUrl = (
  { engine, apiKey }: Access,
  target: SignedTarget,
  seconds: number,
  options: ReadonlyMap<string, string>,
  nowMs: number,
): FileUrl & { expiresAtMs: number } => {
  const expiresAtMs = Math.min(nowMs + seconds * 1000, apiKey.expiresAtMs ?? Number.POSITIVE_INFINITY)
  const signed = { keyId: apiKey.id, expiresAtMs, options }
  return { target: signedFileUrl(engine.urlKey, '', target, signed), method: target.method, expiresAtMs }
}
