import type { Json } from '../harness.ts'

// A proxy between the commands and the server. It sees the requests and can answer instead of the server: a full disk, a busy
// server. It also gives a test the moment to kill the command.

export interface Batch {
  /** The number of the batch, from 1, in the order in which they came. */
  number: number
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
      if (pathname.endsWith('/batch')) {
        const batch = { number: batches.length + 1, operations: JSON.parse(body).operations }
        batches.push(batch)
        const own = await onBatch(batch)
        if (own !== undefined) return own
      }
      const { method } = request
      const authorization = request.headers.get('authorization')!
      const answer = await fetch(serverUrl + pathname + search, {
        method,
        headers: { authorization, 'content-type': 'application/json' },
        body: body === '' ? undefined : body,
      })
      return new Response(await answer.text(), { status: answer.status })
    },
  })
  return { port: middle.port!, url: `http://127.0.0.1:${middle.port}`, batches, stop: () => middle.stop(true) }
}
