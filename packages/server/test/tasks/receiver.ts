import type { Json } from '../api-response.ts'
import { eventually } from '../harness.ts'

/** One push, as it came. */
export interface Received {
  headers: Headers
  text: string
  body: Json
  /** `cubby-attempt` and `cubby-lease`, and the run's id. */
  attempt: number
  lease: string
  run: string
  task: string
  atMs: number
  /** True if the sender has closed the connection before the answer. */
  isCut: boolean
}

type Reply = Response | Promise<Response>

/** A target of pushes: `answer` says what it does, and it counts what it has open at once. */
export class Receiver {
  readonly received: Received[] = []
  answer: (push: Received) => Reply = () => new Response('{}')
  openNow = 0
  mostOpen = 0
  readonly #server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, idleTimeout: 60 },
    fetch: (request) => this.#receive(request),
  })

  url(path = '/'): string {
    return `http://127.0.0.1:${this.#server.port}${path}`
  }

  async #receive(request: Request): Promise<Response> {
    this.openNow++
    this.mostOpen = Math.max(this.mostOpen, this.openNow)
    const { headers } = request
    const text = await request.text()
    const push: Received = {
      ...{ headers, text, body: JSON.parse(text), attempt: Number(headers.get('cubby-attempt')) },
      ...{ lease: headers.get('cubby-lease')!, run: headers.get('webhook-id')!, task: headers.get('cubby-task')! },
      ...{ atMs: Date.now(), isCut: false },
    }
    this.received.push(push)
    request.signal.addEventListener('abort', () => {
      push.isCut = true
    })
    try {
      return await this.answer(push)
    } finally {
      this.openNow--
    }
  }

  of(task: string): Received[] {
    return this.received.filter((push) => push.task === task)
  }

  /** Waits until the task has got so many. */
  until(task: string, count: number, waitMsMax = 30_000): Promise<Received[]> {
    const what = `${count} pushes of ${task}`
    return eventually(what, () => (this.of(task).length >= count ? this.of(task) : undefined), { waitMsMax })
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }
}

/** An `answer` that never comes. */
export const never = (): Promise<Response> => new Promise(() => {})
