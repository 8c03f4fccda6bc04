import type { Log } from '../../../core/log.ts'
import { isRetryable, S3Failure } from './failure.ts'
import { describeS3, objectUrl, type S3Settings } from './settings.ts'
import { emptySha256, signRequest } from './signature.ts'
import { TimeBudget } from './time-budget.ts'

type Body = NonNullable<RequestInit['body']>

/** A body that can be sent several times. */
export interface Payload {
  bytes: number
  /** Hex. */
  sha256: string
  /** All bytes. `onTaken` is to be called for each chunk that is read. */
  open(onTaken: (isLast: boolean) => void): Body
}

interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** The object, below the prefix. */
  name: string
  headers?: Record<string, string>
  payload?: Payload
}

export interface Timing {
  attemptsMax: number
  /** The mean pause before the second attempt; it doubles with each one. */
  pauseMs: number
  /** The wait for a response to begin; after an upload, S3 may have to check gigabytes. */
  responseMsMax: number
  uploadResponseMsMax: number
  /** The wait for the next bytes of an upload or a download. */
  progressMsMax: number
  /** A reader of a download that pauses for longer is slow. */
  readerPauseMsMax: number
}

export const defaultTiming: Timing = {
  attemptsMax: 4,
  pauseMs: 200,
  responseMsMax: 10_000,
  uploadResponseMsMax: 60_000,
  progressMsMax: 30_000,
  readerPauseMsMax: 1_000,
}

const pauseMsMax = 5_000
const failureLogEveryMs = 10_000
const smallBodyBytesMax = 64 * 1024

/** Sends signed requests, and repeats those that may succeed later. Throws S3Failure. */
export class S3Requests {
  readonly #settings: S3Settings
  readonly #timing: Timing
  readonly #log: Log
  readonly #closing = new AbortController()
  #loggedAtMs = Number.NEGATIVE_INFINITY

  constructor(settings: S3Settings, timing: Timing, log: Log) {
    this.#settings = settings
    this.#timing = timing
    this.#log = log
  }

  get timing(): Timing {
    return this.#timing
  }

  /** Ends requests in flight. */
  close(): void {
    this.#closing.abort(new S3Failure('the place is closed'))
  }

  /**
   * The value that `use` makes of a successful answer. If the connection breaks while `use` runs, both are repeated. `use`,
   * or what it returns, must end `patience`. `signal` ends the request earlier.
   */
  async send<T>(
    request: S3Request,
    use: (response: Response, budget: TimeBudget) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const budget = new TimeBudget([this.#closing.signal, ...(signal === undefined ? [] : [signal])])
      try {
        const response = await this.#attempt(request, budget)
        return await use(response, budget)
      } catch (error) {
        budget.end(error)
        const failure = toFailure(error, request)
        if (this.#closing.signal.aborted || signal?.aborted) throw failure
        if (!isRetryable(failure) || attempt >= this.#timing.attemptsMax) {
          this.#logFailure(failure)
          throw failure
        }
      }
      // Random, so that many requests that failed together do not return together.
      const pauseMs = Math.min(pauseMsMax, this.#timing.pauseMs * 2 ** (attempt - 1))
      await Bun.sleep(pauseMs * (0.5 + Math.random()))
    }
  }

  /** Sends a request whose response is small, or has no body. */
  sendSmall(request: S3Request, signal?: AbortSignal): Promise<{ headers: Headers; text: string }> {
    const use = async (response: Response, budget: TimeBudget) => {
      const text = await readSmall(response)
      budget.end('the answer is complete')
      return { headers: response.headers, text }
    }
    return this.send(request, use, signal)
  }

  async #attempt({ method, name, headers = {}, payload }: S3Request, budget: TimeBudget): Promise<Response> {
    const url = new URL(objectUrl(this.#settings, name))
    const payloadSha256 = payload?.sha256 ?? emptySha256
    const signed = signRequest({ method, url, headers, payloadSha256 }, this.#settings, Date.now())
    const { responseMsMax, uploadResponseMsMax, progressMsMax } = this.#timing
    budget.wait(payload === undefined ? responseMsMax : progressMsMax)
    // Bun sends a stream with a length as it is, not in chunks, which S3 refuses. A `Bun.file` would be sent the same way, but
    // over TLS Bun reads it into memory as a whole.
    const body = payload?.open((isLast) => budget.wait(isLast ? uploadResponseMsMax : progressMsMax))
    const response = await fetch(url, {
      method,
      // A proxy may compress without this header, and then ranges are of the compressed bytes.
      headers: { ...signed, 'accept-encoding': 'identity', ...lengthOf(payload) },
      body,
      // The signature is for this address only.
      redirect: 'manual',
      signal: budget.signal,
      // Bun's own limit of five minutes is for a whole silence, also one that a slow reader causes. Ours are in Patience.
      timeout: false,
    } as RequestInit)
    budget.wait(progressMsMax)
    if (response.ok) return response
    const text = method === 'HEAD' ? '' : await readSmall(response)
    throw new S3Failure(`S3 answered ${method}`, {
      status: response.status,
      code: codeIn(text) ?? (method === 'HEAD' && response.status === 404 ? 'NoSuchKey' : undefined),
      region: /^[a-z0-9-]{1,64}$/.exec(response.headers.get('x-amz-bucket-region') ?? '')?.[0],
    })
  }

  /** Callers of the API do not see the cause, so it is logged: once in a while, since a failing S3 fails every request. */
  #logFailure(failure: S3Failure): void {
    const nowMs = performance.now()
    // Ordinary answers: there is no such object, or a condition of a write does not hold.
    if (failure.status === 404 && failure.code === 'NoSuchKey') return
    if (failure.status === 412) return
    if (nowMs - this.#loggedAtMs < failureLogEveryMs) return
    this.#loggedAtMs = nowMs
    this.#log('error', 'a request to S3 failed', { place: describeS3(this.#settings), cause: failure.message })
  }
}

const lengthOf = (payload: Payload | undefined): Record<string, string> =>
  payload === undefined ? {} : { 'content-length': String(payload.bytes), 'content-type': 'application/octet-stream' }

const codeIn = (text: string): string | undefined => /<Code>\s*(\w{1,64})\s*<\/Code>/.exec(text)?.[1]

/** Connections fail in many ways; the error's own text may have the address of a proxy, with its password. */
const toFailure = (error: unknown, { method }: S3Request): S3Failure => {
  if (error instanceof S3Failure) return error
  const { code, name } = error as { code?: unknown; name?: unknown }
  return new S3Failure(`the connection failed at ${method}:`, { code: String(code ?? name ?? 'unknown') })
}

/** The text of a small body. What is longer is not from S3. */
const readSmall = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > smallBodyBytesMax) throw new S3Failure('S3 answered with a large body', { status: response.status })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
