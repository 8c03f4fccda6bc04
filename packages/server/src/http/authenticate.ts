import { isWellFormedApiKey } from '../core/api-keys/api-key.ts'
import { type Awaitable, andThen } from '../core/awaitable.ts'
import { CubbyError } from '../core/errors.ts'
import { call } from '../core/hint.ts'
import { apiKeyCacheEntriesMax } from '../core/limits.ts'
import { userTokenPrefix } from '../core/tokens/user-token.ts'
import type { Access } from '../operations/access.ts'
import { authorize, type Demand } from '../operations/authorize.ts'
import type { TaskServices } from '../operations/tasks/task-services.ts'
import type { LoginServices } from '../operations/tokens/login-services.ts'
import type { ApiKey } from '../store/api-keys.ts'
import type { BlobStore } from '../store/blob-store.ts'
import type { Engine } from '../store/engine.ts'
import { missingKeyHint, wrongSchemeHint } from './mistake-hints.ts'
import { type FoundToken, holdsToken, openedTokens, openToken, withUser } from './user-tokens.ts'

const invalid = (message: string, hint = 'Send "Authorization: Bearer svc_live_…" or "svc_pub_…".'): CubbyError =>
  new CubbyError('invalid_api_key', message, { hint })

/** Authorization headers whose key was found, with the key of each: most requests repeat one. */
const foundHeaders = new Map<string, string>()

/**
 * Tells whether the key or the token of the request was found before. Until then anybody may have made it up: a checksum is easy to forge.
 */
export const recognize = (caller: Caller): boolean => {
  const header = caller.request.headers.get('authorization')
  if (header === null) return false
  if (holdsToken(header)) {
    caller.token = openedTokens.get(header)
    return caller.token !== undefined
  }
  caller.presentedKey = foundHeaders.get(header)
  return caller.presentedKey !== undefined
}

/** Bounded in entries and in bytes: a header that is padded with spaces is read anew each time. */
const remember = ({ headers }: Request, text: string): void => {
  const header = headers.get('authorization')!
  if (header.length !== 'Bearer '.length + text.length) return
  if (foundHeaders.size >= apiKeyCacheEntriesMax) foundHeaders.clear()
  foundHeaders.set(header, text)
}

/** The text of the key or of the token. A key with a wrong checksum is rejected here, without a look at the store. */
const presentedText = (request: Request): string => {
  const header = request.headers.get('authorization')
  if (header === null) {
    throw new CubbyError('missing_api_key', 'The request carries no API key.', { hint: missingKeyHint(request) })
  }
  const text = /^bearer +(\S+)$/i.exec(header)?.[1]
  if (text === undefined && /^bearer +svc_user_/i.test(header)) throw invalidToken()
  if (text === undefined) {
    throw invalid('The Authorization header is not of the form "Bearer <API key>".', wrongSchemeHint(header))
  }
  if (!text.startsWith(userTokenPrefix) && !isWellFormedApiKey(text)) throw invalid('The API key is malformed.')
  return text
}

/** The request to authenticate; this step sets `access` and `nowMs`. */
export interface Caller {
  readonly request: Request
  readonly params: Readonly<Record<string, string | undefined>>
  readonly route: Demand
  access: Access
  nowMs: number
  /** The key from the headers, read once: a request with a body is authenticated again when the body has arrived. */
  presentedKey?: string
  /** The user token from the headers, opened once. */
  token?: FoundToken
  isFromForeignPage?: boolean
}

export interface AuthenticatorOptions {
  engine: Engine
  /** The blob store of files; absent without --files. */
  blobStore?: BlobStore
  tasks: TaskServices
  logins: LoginServices
  now(): number
  /** Called when a key is used; must be cheap. */
  onKeyUse(keyId: string, atMs: number): void
}

const keyUseNoteMs = 1_000

/** Identifies the caller and checks that the API key allows what the route needs. */
export class Authenticator {
  readonly #engine: Engine
  readonly #blobStore: BlobStore | undefined
  readonly #tasks: TaskServices
  readonly #logins: LoginServices
  readonly #now: () => number
  readonly #onKeyUse: (keyId: string, atMs: number) => void
  #notedKeyId = ''
  #notedAtMs = Number.NEGATIVE_INFINITY

  constructor({ engine, blobStore, tasks, logins, now, onKeyUse }: AuthenticatorOptions) {
    this.#engine = engine
    this.#blobStore = blobStore
    this.#tasks = tasks
    this.#logins = logins
    this.#now = now
    this.#onKeyUse = onKeyUse
  }

  authenticate(caller: Caller): Awaitable<void> {
    const nowMs = this.#now()
    caller.nowMs = nowMs
    const { request } = caller
    if (caller.token !== undefined) return this.#authenticateUser(caller, caller.token.text, nowMs)
    const isNew = caller.presentedKey === undefined
    const text = caller.presentedKey ?? presentedText(request)
    if (text.startsWith(userTokenPrefix)) return this.#authenticateUser(caller, text, nowMs)
    caller.presentedKey = text
    return andThen(this.#engine.apiKeys.find(text), (apiKey) => {
      if (apiKey === undefined) {
        // Its organization may have been deleted.
        foundHeaders.delete(request.headers.get('authorization')!)
        throw invalid('The API key is unknown.')
      }
      if (isNew) remember(request, text)
      refuseRetired(apiKey, nowMs)
      refuseInForeignPage(apiKey, caller)
      this.#admit(caller, apiKey, nowMs)
    })
  }

  #admit(caller: Caller, apiKey: ApiKey, nowMs: number): void {
    authorize(apiKey, caller.route, caller.params)
    this.#noteKeyUse(apiKey.id, nowMs)
    caller.access = {
      ...{ engine: this.#engine, apiKey, blobStore: this.#blobStore },
      ...{ tasks: this.#tasks, logins: this.#logins },
    }
  }

  /** Every web page may send a user token, so nothing is asked about the page. */
  #authenticateUser(caller: Caller, text: string, nowMs: number): Awaitable<void> {
    const { apiKeys, secrets, users } = this.#engine
    return andThen(secrets.at(nowMs), (keyring) => {
      const token = caller.token?.keyringId === keyring.id ? caller.token : openToken(keyring, text)
      if (token === undefined) throw invalidToken()
      return andThen(apiKeys.findById(token.keyId), (found) => {
        // Its organization is deleted.
        if (found === undefined) throw invalidToken()
        if (found.revokedAtMs !== null) throw revoked()
        const apiKey = withUser(token, found)
        const { mark, expiresAtMs } = token.content
        return andThen(users.epoch(), (epoch) => {
          const state = token.validAtEpoch === epoch ? 'valid' : users.stateOf(apiKey.orgId, mark)
          return andThen(state, (known) => {
            if (known === 'revoked') throw revokedToken()
            const endMs = Math.min(expiresAtMs, apiKey.expiresAtMs ?? Number.POSITIVE_INFINITY)
            if (known === 'forgotten' || endMs <= nowMs) throw expiredToken()
            token.validAtEpoch = epoch
            if (caller.token !== token) rememberToken(caller, token)
            this.#admit(caller, apiKey, nowMs)
          })
        })
      })
    })
  }

  /** Makes at most one note per second while the same key is used. */
  #noteKeyUse(keyId: string, nowMs: number): void {
    const sinceMs = nowMs - this.#notedAtMs
    if (keyId === this.#notedKeyId && sinceMs >= 0 && sinceMs < keyUseNoteMs) return
    this.#notedKeyId = keyId
    this.#notedAtMs = nowMs
    this.#onKeyUse(keyId, nowMs)
  }
}

export const revoked = (): CubbyError =>
  new CubbyError('revoked_api_key', 'The API key has been revoked.', {
    hint: 'Use another key; revocation is permanent.',
  })

const invalidToken = (): CubbyError =>
  new CubbyError('invalid_token', 'The user token is not one of this store, or its organization is deleted.', {
    hint: 'Send a token as it was given; ask for a new one where this one came from.',
  })

export const revokedToken = (): CubbyError =>
  new CubbyError('revoked_token', 'The user token has been revoked, with all tokens of its user.', {
    hint: 'Ask for a new one where this one came from.',
  })

const expiredToken = (): CubbyError =>
  new CubbyError('expired_token', 'The user token has expired.', {
    hint: 'Ask for a new one where this one came from.',
  })

const rememberToken = (caller: Caller, token: FoundToken): void => {
  caller.token = token
  openedTokens.set(caller.request.headers.get('authorization')!, token)
}

const refuseRetired = (apiKey: ApiKey, nowMs: number): void => {
  if (apiKey.revokedAtMs !== null) throw revoked()
  if (apiKey.expiresAtMs !== null && apiKey.expiresAtMs <= nowMs) {
    throw new CubbyError('expired_api_key', `The API key expired at ${new Date(apiKey.expiresAtMs).toISOString()}.`, {
      hint: ['Create another key: ', call('createApiKey'), '.'],
    })
  }
}

/** The check is here because only HTTP knows of browsers; a public key may be in one. */
const refuseInForeignPage = (apiKey: ApiKey, caller: Caller): void => {
  if (apiKey.kind === 'public') return
  caller.isFromForeignPage ??= isFromForeignPage(caller.request.headers)
  if (!caller.isFromForeignPage) return
  throw new CubbyError('secret_key_in_browser', 'A secret key was sent by a web page of another origin.', {
    hint: 'Use a public key (svc_pub_…) in browsers, revoke this one, and keep secret keys on your server.',
  })
}

const isFromForeignPage = (headers: Headers): boolean => {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'cross-site' || site === 'same-site'
  const origin = headers.get('origin')
  if (origin === null) return false
  // Sandboxed pages and local files send the origin `null`: they are foreign too.
  const host = /^[a-z][a-z0-9+.-]*:\/\/(.*)$/i.exec(origin)?.[1]
  return host?.toLowerCase() !== headers.get('host')?.toLowerCase()
}
