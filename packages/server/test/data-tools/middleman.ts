import type { Json } from '../harness.ts'

// A proxy between the commands and the server. It sees the requests and can answer instead of the server: a full disk, a busy
// server. It also gives a test the moment to kill the command.

/** A batch or a load. */
export interface Batch {
  /** The number of the request, from 1, in the order in which they came. */
  number: number
  /** The operations of the batch, or the lines of the load. */
  operations: Json[]
}

export interface Middleman {
  readonly port: number
  readonly url: string
  readonly batches: Batch[]
  stop(): Promise<void>
}

export const errorAnswer = (status: number, code: string, message: string): Response =>
  Response.json({ error: { code, message, requestId: 'r' } }, { status, headers: { 'retry-after': '0' } })

const operationsOf = (pathname: string, body: string): Json[] | undefined => {
  if (pathname.endsWith('/batch')) return JSON.parse(body).operations
  if (!pathname.endsWith('/load')) return undefined
  const lines = body.split('\n')
  if (lines.pop() !== '') throw new Error('the last line of a load does not end')
  return lines.map((line) => JSON.parse(line))
}

/** `onBatch` may answer itself, before or instead of the server. */
export const startMiddleman = (
  serverUrl: string,
  onBatch: (batch: Batch) => Promise<Response | undefined> | Response | undefined = () => undefined,
  port = 0,
): Middleman => {
  const batches: Batch[] = []
  const middle = Bun.serve({
    port,
    hostname: '127.0.0.1',
    maxRequestBodySize: 64 * 1024 * 1024,
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const body = await request.text()
      const operations = operationsOf(pathname, body)
      if (operations !== undefined) {
        const batch = { number: batches.length + 1, operations }
        batches.push(batch)
        const own = await onBatch(batch)
        if (own !== undefined) return own
      }
      const { method } = request
      const authorization = request.headers.get('authorization')!
      const type = request.headers.get('content-type') ?? 'application/json'
      const answer = await fetch(serverUrl + pathname + search, {
        method,
        headers: { authorization, 'content-type': type },
        body: body === '' ? undefined : body,
      })
      return new Response(await answer.text(), { status: answer.status })
    },
  })
  return { port: middle.port!, url: `http://127.0.0.1:${middle.port}`, batches, stop: () => middle.stop(true) }
}
