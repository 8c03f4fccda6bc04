import { CubbyError, matches, refusal } from './errors.ts'

/** A user token, or what `tokens.create` and `tokens.exchange` return, which tells its end too. */
export type GivenToken = string | { readonly token: string; readonly expiresAt: number }

/** A user token, or a function that gets one: it is called again shortly before the end, and when the token is refused. */
export type TokenSource = string | (() => GivenToken | PromiseLike<GivenToken>)

/** A new token is used so long at least: the clock of this machine may be wrong about its end. */
const usedMsMin = 30_000
/** The next token is asked for so long before the end, or in the last tenth of its time. */
const aheadMsMax = 60_000

interface HeldToken {
  readonly text: string
  /** By the clock of this machine; infinite while it is not known. */
  endMs: number
  /** When the next one is asked for. */
  dueMs: number
}

/** A line break must not reach `fetch`: some runtimes have the whole header in their error. */
export const checkToken = (given: unknown): string => {
  if (matches(/^svc_user_[\w-]+$/, given)) return given
  const found = typeof given === 'string' ? `malformed (${given.length} characters)` : typeof given
  throw refusal('invalid_token', 'token', `is ${found}; it takes a user token: svc_user_…`)
}

/** The token of a function. However many requests need the next one, the function is called once. */
export class TokenHolder {
  readonly #source: Exclude<TokenSource, string>
  readonly #readEnd: (token: string) => Promise<number | undefined>
  #held: HeldToken | undefined
  #asked: Promise<HeldToken> | undefined

  /** `readEnd` finds out the end of a token that was given without it. It never rejects. */
  constructor(source: Exclude<TokenSource, string>, readEnd: (token: string) => Promise<number | undefined>) {
    this.#source = source
    this.#readEnd = readEnd
  }

  /** Nothing was sent if it rejects: with `unavailable`, or with the `CubbyError` of the function. */
  async take(): Promise<HeldToken> {
    const held = this.#held
    if (held && Date.now() < held.dueMs) return held
    this.#asked ??= this.#ask().finally(() => {
      this.#asked = undefined
    })
    try {
      return await this.#asked
    } catch (error) {
      if (held && Date.now() < held.endMs) return held
      throw error
    }
  }

  /** The service has refused it. */
  drop(refused: HeldToken): void {
    if (this.#held === refused) this.#held = undefined
  }

  async #ask(): Promise<HeldToken> {
    const given = await this.#get()
    const { token, expiresAt } = typeof given === 'string' ? { token: given, expiresAt: undefined } : Object(given)
    const held = { text: checkToken(token), endMs: Number.POSITIVE_INFINITY, dueMs: Number.POSITIVE_INFINITY }
    const endAt = (endMs = Number.NaN) => {
      // A text, as of a date, is no number: with it the function would be called for every request.
      if (!Number.isFinite(endMs)) return
      const restMs = endMs - Date.now()
      held.endMs = endMs
      held.dueMs = Date.now() + Math.max(usedMsMin, restMs - Math.min(aheadMsMax, restMs / 10))
    }
    if (typeof given === 'string') this.#readEnd(token).then(endAt)
    else endAt(expiresAt)
    this.#held = held
    return held
  }

  async #get(): Promise<GivenToken> {
    try {
      return await this.#source()
    } catch (error) {
      if (error instanceof CubbyError) throw error
      const why = (error as Error | undefined)?.message ?? error
      throw new CubbyError('unavailable', `The function for the token failed: ${why}`, { cause: error })
    }
  }
}
