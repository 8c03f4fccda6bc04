import { hash } from 'node:crypto'
import type { IdempotencyScope, OnceRequest } from '../operations/access.ts'
import type { TokenUser } from '../store/api-keys.ts'
import { announcesBody } from './body.ts'

const sha256 = (text: string): string => hash('sha256', text, 'hex')

/** Path and query string as they were sent. */
const targetOf = (url: string): string => url.slice(url.indexOf('/', url.indexOf('//') + 2))

/** A UUID of version 7 begins with its time in 13 characters. */
const orderedCharacters = 13

/** The body of a request that was refused before it was read. It is not JSON, so no request that was applied has it. */
const unreadBody = '(unread)'

/** The idempotency key of a request. Of its text only the first characters are kept. */
export class KeyedRequest implements OnceRequest {
  isReplayed = false
  kept: object | undefined
  readonly #key: string
  readonly #owner: string
  readonly #request: Request
  #body: string
  #requestHash: string | undefined

  /** A key that comes with a user token is that user's alone. */
  constructor(request: Request, key: string, user: TokenUser | undefined) {
    this.#key = key
    this.#owner = user === undefined ? '' : `${user.mark.userHash}\n`
    this.#request = request
    this.#body = announcesBody(request.headers) ? unreadBody : ''
  }

  noteBody(text: string): void {
    this.#body = text
    this.#requestHash = undefined
  }

  /**
   * Begins with the first characters of the key: keys that begin with the time are neighbours in the index of PostgreSQL, so
   * that keys of one commit share its pages. The rest is different in each scope, also for the same key.
   */
  keyHashIn({ scopeId, scopeKind }: IdempotencyScope): string {
    const key = this.#key
    const start = Buffer.from(key.slice(0, orderedCharacters).padEnd(orderedCharacters, ' '), 'latin1').toString('hex')
    return start + sha256(`${scopeId} ${scopeKind} ${this.#owner}${key}`).slice(start.length)
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
