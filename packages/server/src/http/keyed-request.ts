import { hash } from 'node:crypto'
import type { OnceRequest } from '../operations/access.ts'

const sha256 = (text: string): string => hash('sha256', text, 'hex')

/** Path and query string as they were sent. */
const targetOf = (url: string): string => url.slice(url.indexOf('/', url.indexOf('//') + 2))

/** A UUID of version 7 begins with its time in 13 characters. */
const orderedCharacters = 13

/**
 * Begins with the first characters of the key: keys that begin with the time are neighbours in the index, so that keys of one
 * commit share its pages.
 */
const keyHashOf = (key: string): string => {
  const start = Buffer.from(key.slice(0, orderedCharacters).padEnd(orderedCharacters, ' '), 'latin1').toString('hex')
  return start + sha256(key).slice(start.length)
}

/** The idempotency key of a request. Of its text only the first characters are kept. */
export class KeyedRequest implements OnceRequest {
  readonly keyHash: string
  isReplayed = false
  kept: object | undefined
  readonly #request: Request
  #body = ''
  #requestHash: string | undefined

  constructor(request: Request, key: string) {
    this.keyHash = keyHashOf(key)
    this.#request = request
  }

  noteBody(text: string): void {
    this.#body = text
    this.#requestHash = undefined
  }

  get requestHash(): string {
    this.#requestHash ??= this.#hashRequest()
    return this.#requestHash
  }

  /** None of the parts before the body has a line end, so two requests with the same text are the same. */
  #hashRequest(): string {
    const { method, url, headers } = this.#request
    const conditions = `${headers.get('if-match') ?? ''}\n${headers.get('if-none-match') ?? ''}`
    return sha256(`${method} ${targetOf(url)}\n${conditions}\n${this.#body}`)
  }
}
