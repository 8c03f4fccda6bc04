export interface RunFailedOptions {
  /** False: the run fails for good, whatever attempts are left. */
  retry?: boolean
  /** Seconds until the next attempt; replaces the backoff. Not with `retry: false`. */
  retryAfter?: number
  cause?: unknown
}

/** A handler throws it to say how to go on. After every other error the run is attempted again, with the backoff. */
export class RunFailed extends Error {
  /** @internal */
  static override readonly name: string = 'RunFailed'
  override readonly name: string = 'RunFailed'
  readonly retry: boolean | undefined
  readonly retryAfter: number | undefined

  constructor(message: string, options: RunFailedOptions = {}) {
    super(message, options.cause === undefined ? undefined : options)
    this.retry = options.retry
    this.retryAfter = options.retryAfter
  }
}

const charactersMax = 1_000

/** The error as the server takes it: a text of at most 1,000 characters, without halves of characters. */
const messageOf = (error: unknown): string => {
  let text = ''
  try {
    text = String((error as Error | undefined)?.message ?? error)
  } catch {}
  const characters = [...text.slice(0, 4 * charactersMax).replace(/\p{Surrogate}/gu, '\ufffd')]
  return characters.slice(0, charactersMax).join('') || 'The handler failed without a message.'
}

interface FailedOutcome {
  error: { message: string }
  retry?: boolean
  retryAfter?: number
}

/**
 * Returns what the server is told about an attempt that failed. A program may have two copies of the class, so its name is
 * compared.
 */
export const failedOutcome = (error: unknown): FailedOutcome => {
  const outcome: FailedOutcome = { error: { message: messageOf(error) } }
  if ((error as Error | undefined)?.name !== 'RunFailed') return outcome
  const { retry, retryAfter } = error as RunFailed
  if (retry === false) return { ...outcome, retry }
  return retryAfter === undefined ? outcome : { ...outcome, retryAfter: Math.max(0, Math.ceil(retryAfter)) }
}
