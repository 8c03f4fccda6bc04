import { Cubby, type CubbyOptions, type SaveError } from '../src/index.ts'

export interface SentRequest {
  method: string
  /** The path with the query string, as it went out. */
  path: string
  headers: Record<string, string>
  /** Parsed; undefined without a body. */
  body: { operations?: { hashKey: string; rangeKey?: string; data?: unknown }[]; [field: string]: unknown } | undefined
  text: string | undefined
}

/** An answer, or a rejection for a connection that broke. */
export type Reply = Response | Error

export const url = 'http://cubby.test'
export const key = `svc_live_${'0'.repeat(38)}`

/** Uses the key, unless the options have a token. */
export const optionsOf = (base: { url: string; key: string }, options: Partial<CubbyOptions>): CubbyOptions =>
  ({ ...base, ...(options.token !== undefined && { key: undefined }), ...options }) as CubbyOptions

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

export const refused = (status: number, code: string, details: object = {}, headers: Record<string, string> = {}) =>
  json({ error: { code, message: `It is ${code}.`, requestId: 'req-1', ...details } }, status, headers)

export const broken = (): Error => new TypeError('The socket connection was closed unexpectedly.')

/** Rejects when the request's signal aborts, and never answers before. */
export const silence = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

type Handler = (request: SentRequest, signal: AbortSignal) => Reply | Promise<Reply>

/** A client over a `fetch` that answers with `reply`, one call each if it is a list, and keeps what was sent. */
export const fakeCubby = (reply: Handler | Reply[], options: Partial<CubbyOptions> = {}) => {
  const requests: SentRequest[] = []
  const cubby = new Cubby({
    ...optionsOf({ url, key }, options),
    fetch: async (target, init) => {
      const text = init.body as string | undefined
      const request = {
        method: init.method!,
        path: target.slice(url.length),
        headers: init.headers as Record<string, string>,
        body: text === undefined ? undefined : JSON.parse(text),
        text,
      }
      requests.push(request)
      init.signal!.throwIfAborted()
      const answer = Array.isArray(reply) ? reply[requests.length - 1] : await reply(request, init.signal!)
      if (answer === undefined) throw new Error(`request ${requests.length} was not expected`)
      if (answer instanceof Error) throw answer
      return answer
    },
  })
  return { cubby, requests, table: cubby.db('app').table('orders') }
}

/** The error that it rejects with, taken for the richest of our errors: the test says which one it is. */
export const failureOf = async (work: PromiseLike<unknown>): Promise<SaveError> => {
  try {
    await work
  } catch (error) {
    return error as SaveError
  }
  throw new Error('it did not fail')
}
