import { createCipheriv, createDecipheriv, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'

const tagBytes = 16

/**
 * Encrypts and authenticates short texts. The tag is an HMAC of the text and at the same time the nonce of the cipher
 * (a synthetic IV), so a nonce never repeats for another text; equal texts give equal results. It took 2.1 µs in a quiet
 * process, AES-GCM with a random nonce 2.5 to 3.2.
 */
export class TextSeal {
  readonly #cipherKey
  /** Has read the key already: a copy of it for each text saves half of the work. */
  readonly #hmac

  /** What was sealed for one use cannot be opened for another. */
  constructor(secret: Uint8Array, use: 'cursor' | 'user token') {
    const derive = (part: string): Buffer => createHmac('sha256', secret).update(`${use} ${part}`).digest()
    this.#cipherKey = createSecretKey(derive('cipher'))
    this.#hmac = new Bun.CryptoHasher('sha256', derive('tag'))
  }

  seal(text: Buffer): Buffer {
    const tag = this.#tagOf(text)
    return Buffer.concat([tag, createCipheriv('aes-256-ctr', this.#cipherKey, tag).update(text)])
  }

  open(sealed: Buffer): Buffer | undefined {
    if (sealed.length < tagBytes) return undefined
    const tag = sealed.subarray(0, tagBytes)
    const text = createDecipheriv('aes-256-ctr', this.#cipherKey, tag).update(sealed.subarray(tagBytes))
    return timingSafeEqual(tag, this.#tagOf(text)) ? text : undefined
  }

  #tagOf(text: Buffer): Buffer {
    return this.#hmac.copy().update(text).digest().subarray(0, tagBytes)
  }
}

/** Seals with one secret, and opens what any accepted one has sealed. */
export class CursorSeal {
  /** The number of bytes that a sealed text is longer than its text. */
  static readonly overheadBytes = tagBytes

  /** The first one seals. */
  readonly #seals: readonly TextSeal[]
  /** True if the store was made by version 0.1, whose plain cursors may still be in use. */
  readonly acceptsPlain: boolean

  constructor(seals: readonly TextSeal[], acceptsPlain: boolean) {
    this.#seals = seals
    this.acceptsPlain = acceptsPlain
  }

  seal(text: Buffer): Buffer {
    return this.#seals[0]!.seal(text)
  }

  /** The text that was sealed; undefined if it was not sealed with one of the secrets, or was changed since. */
  open(sealed: Buffer): Buffer | undefined {
    for (const seal of this.#seals) {
      const text = seal.open(sealed)
      if (text !== undefined) return text
    }
    return undefined
  }
}
