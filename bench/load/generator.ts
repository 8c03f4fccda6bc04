import { setPriority } from 'node:os'
import { Histogram } from './histogram.ts'
import type { LoadErrors, LoadPlan, LoadResult } from './load.ts'
import { holeWidth, partLength, type RequestTemplate } from './template.ts'

// Our own load generator, a separate process. It uses raw sockets with one request at a time on each. The bytes of requests
// are made in advance; of a response it reads only the status and the length. `bun generator.ts PLAN.json`.

const plan = JSON.parse(await Bun.file(process.argv[2]!).text()) as LoadPlan
const { records, groups } = plan.shape
// The parent process has ended: nobody reads the result.
process.stdin.on('end', () => process.exit(1)).resume()

if (plan.paceHz !== undefined) {
  // Paced readers simulate clients on other machines. If the system allows it, they get a higher priority, so that they
  // do not wait for a core that the server uses. They use almost no CPU.
  try {
    setPriority(-10)
  } catch {
    // Without the priority they wait, and `latenessP99Us` says for how long.
  }
}

/** The bytes of one kind of request, and the positions of its placeholders. */
interface Prepared {
  bytes: Buffer
  holes: { at: number; kind: 'record' | 'group' | 'score' | 'rising'; plus: number }[]
}

const prepare = (template: RequestTemplate): Prepared => {
  const holes: Prepared['holes'] = []
  let at = 0
  const text = template.parts.map((part) => {
    const start = at
    at += partLength(part)
    if (typeof part === 'string') return part
    holes.push({ at: start, kind: part.hole, plus: part.hole === 'record' ? part.plus : 0 })
    return '0'.repeat(partLength(part))
  })
  return { bytes: Buffer.from(text.join(''), 'latin1'), holes }
}

const cycle: Prepared[] = plan.templates.flatMap((template) => Array(template.times).fill(prepare(template)))
let turn = 0
let risen = Date.now()

const writeDigits = (bytes: Buffer, at: number, width: number, value: number): void => {
  let rest = value
  for (let i = at + width - 1; i >= at; i--) {
    const next = Math.floor(rest / 10)
    bytes[i] = 48 + (rest - next * 10)
    rest = next
  }
}

/** The next request. The request after it reuses the buffer. */
const nextRequest = (): Buffer => {
  const { bytes, holes } = cycle[turn % cycle.length]!
  const base = plan.stride === undefined ? Math.floor(Math.random() * records) : turn * plan.stride
  turn++
  for (const { at, kind, plus } of holes) {
    if (kind === 'record') writeDigits(bytes, at, holeWidth.record, (base + plus) % records)
    else if (kind === 'group') writeDigits(bytes, at, holeWidth.group, Math.floor(Math.random() * groups))
    else if (kind === 'score') writeDigits(bytes, at, holeWidth.score, 1e9 + Math.floor(Math.random() * 9e9))
    else writeDigits(bytes, at, holeWidth.rising, risen++)
  }
  return bytes
}

const latency = new Histogram()
const lateness = new Histogram()
const errors: LoadErrors = { connect: 0, read: 0, write: 0, status: 0, timeout: 0 }
let firstFault: string | undefined
let answered = 0
let sent = 0
let over = false
const done = Promise.withResolvers<void>()

const endOfHead = Buffer.from('\r\n\r\n')
const endOfChunks = Buffer.from('0\r\n\r\n')

class Connection {
  socket!: Bun.Socket<Connection>
  startedMs = 0
  waiting = false
  /** Bytes that the kernel did not accept yet. */
  #unsent: Buffer | undefined
  /** The incomplete head of a response. */
  #head: Buffer | undefined
  #bodyLeft = 0
  #chunked = false
  /** Paced: when the next request is due. */
  #dueMs = 0

  start(index: number): void {
    if (plan.paceHz === undefined) {
      this.send(performance.now())
      return
    }
    // The schedules of the connections are evenly spaced.
    this.#dueMs = performance.now() + (1000 / plan.paceHz) * (index / plan.connections)
    this.#pace()
  }

  #pace(): void {
    if (over || this.waiting) return
    const nowMs = performance.now()
    if (nowMs < this.#dueMs) {
      setTimeout(() => this.#pace(), Math.max(0, this.#dueMs - nowMs))
      return
    }
    lateness.record((nowMs - this.#dueMs) * 1000)
    const dueMs = this.#dueMs
    this.#dueMs += 1000 / plan.paceHz!
    this.send(dueMs)
  }

  send(startedMs: number): void {
    if (over || (plan.requests !== undefined && sent >= plan.requests)) return
    sent++
    this.startedMs = startedMs
    this.waiting = true
    const bytes = nextRequest()
    const written = this.socket.write(bytes)
    if (written < bytes.length) this.#unsent = Buffer.from(bytes.subarray(Math.max(0, written)))
  }

  drain(): void {
    if (this.#unsent === undefined) return
    const written = this.socket.write(this.#unsent)
    this.#unsent = written < this.#unsent.length ? this.#unsent.subarray(Math.max(0, written)) : undefined
  }

  receive(data: Buffer): void {
    if (this.#bodyLeft > 0) {
      this.#bodyLeft -= data.length
      if (this.#bodyLeft <= 0) this.#finish()
      return
    }
    if (this.#chunked) {
      if (data.subarray(-5).equals(endOfChunks)) this.#finish()
      return
    }
    const bytes = this.#head === undefined ? data : Buffer.concat([this.#head, data])
    const end = bytes.indexOf(endOfHead)
    if (end < 0) {
      this.#head = Buffer.from(bytes)
      return
    }
    this.#head = undefined
    const head = bytes.toString('latin1', 0, end)
    // "HTTP/1.1 2…"
    if (head.charCodeAt(9) !== 50) {
      errors.status++
      firstFault ??= `${head.slice(9, 12)} ${bytes
        .subarray(end + 4)
        .toString()
        .slice(0, 400)}`
    }
    const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length === undefined) {
      this.#chunked = true
      if (bytes.subarray(-5).equals(endOfChunks)) this.#finish()
      return
    }
    this.#bodyLeft = Number(length) - (bytes.length - end - 4)
    if (this.#bodyLeft <= 0) this.#finish()
  }

  #finish(): void {
    this.#bodyLeft = 0
    this.#chunked = false
    this.waiting = false
    if (over) return
    const nowMs = performance.now()
    latency.record((nowMs - this.startedMs) * 1000)
    answered++
    if (answered === plan.requests) done.resolve()
    else if (plan.paceHz === undefined) this.send(nowMs)
    else this.#pace()
  }
}

const connections = await Promise.all(
  Array.from({ length: plan.connections }, async () => {
    const connection = new Connection()
    connection.socket = await Bun.connect<Connection>({
      hostname: '127.0.0.1',
      port: plan.port,
      data: connection,
      socket: {
        data: (socket, data) => socket.data.receive(data),
        drain: (socket) => socket.data.drain(),
        close: (socket) => {
          if (!over && socket.data.waiting) errors.read++
          if (!over && connections.every((other) => other.socket.readyState !== 1)) done.resolve()
        },
        error: () => {
          errors.write++
        },
      },
    })
    return connection
  }),
)

const cpuBefore = process.cpuUsage()
const startedMs = performance.now()
connections.forEach((connection, index) => {
  connection.start(index)
})
const timer = plan.seconds === undefined ? undefined : setTimeout(done.resolve, plan.seconds * 1000)
// A server that stops responding must not block the run forever.
const watch = setInterval(() => {
  const longAgoMs = performance.now() - 10_000
  const stuck = connections.filter(({ waiting, startedMs }) => waiting && startedMs < longAgoMs).length
  if (stuck === 0) return
  errors.timeout += stuck
  done.resolve()
}, 1_000)
await done.promise
over = true
clearTimeout(timer)
clearInterval(watch)
const seconds = (performance.now() - startedMs) / 1000
const cpu = process.cpuUsage(cpuBefore)

if (plan.paceHz === undefined && answered >= plan.connections) {
  latency.correct((seconds * 1e6) / Math.floor(answered / plan.connections))
}
const result: LoadResult = {
  requests: answered,
  seconds,
  p50Us: latency.percentileUs(50),
  p99Us: latency.percentileUs(99),
  maxUs: latency.maxUs,
  errors,
  cpuSeconds: (cpu.user + cpu.system) / 1e6,
  ...(plan.paceHz === undefined ? {} : { latenessP99Us: lateness.percentileUs(99) }),
  ...(firstFault === undefined ? {} : { firstFault }),
}
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
