/** The bytes of base64; undefined if it is malformed. */
const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** `whsec_` and base64. It throws a TypeError: a wrong secret is a mistake of the receiver, not of the request. */
export const parseSecrets = (given: string | readonly string[]): Uint8Array<ArrayBuffer>[] => {
  const secrets = typeof given === 'string' ? [given] : given
  // The secret is often missing from the environment. Without this check every push would be refused without a reason.
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw new TypeError('secret is missing; it takes the secret of the task: whsec_ and base64.')
  }
  return secrets.map((secret) => {
    const bytes = typeof secret === 'string' ? decodeBase64(secret.replace(/^whsec_/, '')) : undefined
    if (bytes === undefined || bytes.length === 0) {
      throw new TypeError('secret is malformed; it takes the secret of the task: whsec_ and base64.')
    }
    return bytes
  })
}

/** Takes the same time wherever they differ, so that nobody can guess a signature byte by byte. */
const isEqual = (a: Uint8Array, b: Uint8Array): boolean => {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!
  return difference === 0
}

const sign = async (secret: Uint8Array<ArrayBuffer>, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> => {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, content))
}

/** Tells whether one of the signatures (`v1,…`, divided by spaces) was made with one of the secrets. */
export const isSigned = async (
  header: string,
  secrets: Uint8Array<ArrayBuffer>[],
  content: Uint8Array<ArrayBuffer>,
): Promise<boolean> => {
  const given = header.split(' ').flatMap((text) => (text.startsWith('v1,') && decodeBase64(text.slice(3))) || [])
  const expected = await Promise.all(secrets.map((secret) => sign(secret, content)))
  // All are compared, whichever matches.
  return given.filter((one) => expected.filter((other) => isEqual(one, other)).length > 0).length > 0
}
