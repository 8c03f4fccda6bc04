import { CubbyError } from '../errors.ts'

const refuse = (message: string): never => {
  throw new CubbyError('invalid_request', `Content-Digest ${message}`, {
    field: 'Content-Digest',
    hint: 'Send the SHA-256 of the bytes in base64, between colons: "Content-Digest: sha-256=:…:".',
  })
}

const key = '[a-z*][a-z0-9_.*-]*'
/** A member of a dictionary of structured fields whose value is a byte sequence; parameters are allowed and ignored. */
const member = new RegExp(`^(${key})=:([A-Za-z0-9+/]*={0,2}):(?: *;[ !-+\\--:<-~]*)*$`)

/**
 * The SHA-256 in hex that a Content-Digest header (RFC 9530) declares; undefined without a header. Of other algorithms
 * beside it nothing is checked.
 */
export const parseContentDigest = (header: string | null): string | undefined => {
  if (header === null) return undefined
  let sha256: string | undefined
  for (const part of header.split(',')) {
    const [, name, base64] = member.exec(part.trim()) ?? refuse('is not a list of digests.')
    if (name !== 'sha-256') continue
    const bytes = Buffer.from(base64!, 'base64')
    if (bytes.length !== 32) refuse(`has a sha-256 of ${bytes.length} bytes; it takes 32.`)
    sha256 = bytes.toString('hex')
  }
  return sha256 ?? refuse('has no sha-256; other algorithms are not checked.')
}

/** Tells whether it is a SHA-256 as the store has it: in hex. */
export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

export const sha256Of = (bytes: Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

export const refuseOtherDigest = (declared: string, found: string): void => {
  if (declared === found) return
  throw new CubbyError(
    'digest_mismatch',
    `The bytes that arrived have the SHA-256 ${found}; Content-Digest declares ${declared}.`,
    { field: 'Content-Digest', hint: 'Nothing was stored. Send the file again with the digest of its bytes.' },
  )
}
