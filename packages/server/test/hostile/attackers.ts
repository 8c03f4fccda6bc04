import { generateApiKey } from '../../src/core/api-keys/api-key.ts'
import { answerLines } from './reports.ts'
import { openUnread } from './unread.ts'
import { chunkedBytes, type Head, headBytes, requestBytes, Wire } from './wire.ts'

// The attackers, a process of their own so that their work is not the victim's wait. The first line of standard input is
// the attack; every further line asks for a report of what happened since the last; the end of input ends it.

/** Opens connections, then sends the same bytes on each, and waits. */
export interface HoldAttack {
  kind: 'hold'
  connections: number
  head: Head
  /** The bytes after the head. The head may say something else of them. */
  sent: string
  /** Open another connection for each that ends. */
  renew?: boolean
}

/** Opens connections, sends a request on each, and never takes the answer. */
export interface UnreadAttack {
  kind: 'unread'
  connections: number
  head: Head
  body: string
}

export interface LoopRequest extends Head {
  /** The text has `{n}` wherever each request has a number of its own. */
  body?: string
  /** Send it in chunks of so many bytes. */
  chunkLength?: number
}

/** Sends request after request on each connection, the next when the last is answered. */
export interface LoopAttack {
  kind: 'loop'
  /** The time that a connection waits after an answer; absent: none. */
  pauseMs?: number
  groups: { name: string; connections: number; requests: LoopRequest[] }[]
  /** The time that a connection waits after a 503. */
  refusedPauseMs: number
}

/** One request for each of many Authorization headers, padded with spaces; ends by itself. */
export interface ForgeAttack {
  kind: 'forge'
  connections: number
  requests: number
  path: string
  paddingBytes: number
  /** `well-formed` keys that nobody issued, `malformed` ones, or one real key under ever another padding. */
  keys: 'well-formed' | 'malformed' | { real: string }
}

/** Sends a body without end on each connection, as fast as the server takes it, and another one after its answer. */
export interface StreamAttack {
  kind: 'stream'
  connections: number
  /** Says nothing about the length of the body. */
  head: Head
  /** What the body is made of: `text`, so many times. The text has `{n}` where each has a number of its own. */
  text: string
  times: number
  /** Each `times` texts are a member of gzip. */
  isPacked?: boolean
}

export type Attack = HoldAttack | UnreadAttack | LoopAttack | ForgeAttack | StreamAttack

export interface AttackReport {
  /** Answers by status, for each group; `ended` counts connections that the server ended before an answer. */
  answers: Record<string, Record<string, number>>
  /** Connections that are open now and were opened since the last report. */
  open: number
  opened: number
  /** A `forge` attack has sent all of its requests. */
  finished: boolean
}

const answers: AttackReport['answers'] = {}
let opened = 0
let open = 0
let finished = false

const count = (group: string, outcome: number | string): void => {
  answers[group] ??= {}
  answers[group][outcome] = (answers[group][outcome] ?? 0) + 1
}

const report = (): AttackReport => {
  const shown = { answers: structuredClone(answers), open, opened, finished }
  for (const group of Object.keys(answers)) delete answers[group]
  opened = 0
  return shown
}

const connect = async (port: number): Promise<Wire> => {
  for (;;) {
    try {
      const wire = await Wire.open(port)
      open++
      opened++
      wire.closed.then(() => open--)
      return wire
    } catch {
      count('attackers', 'unconnected')
      await Bun.sleep(20)
    }
  }
}

// More at once would overflow the backlog of the listening socket, and time out in the kernel instead of the server.
const connectsAtOnceMax = 64

/** Enough to hold every place that comes free; more would be an attack of another kind. */
const renewPauseMs = 1_000

const hold = async (port: number, attack: HoldAttack): Promise<void> => {
  const { connections, head, sent, renew = false } = attack
  const bytes = Buffer.concat([headBytes(head), Buffer.from(sent)])
  const begin = (wire: Wire): Promise<void> => {
    wire.send(bytes)
    watch(wire)
    return wire.sent()
  }
  const watch = async (wire: Wire): Promise<void> => {
    while (!wire.ended) {
      count('hold', await wire.answer().catch(() => 'ended'))
      if (renew) wire.close()
    }
    if (renew) {
      await Bun.sleep(renewPauseMs)
      await begin(await connect(port))
    }
  }
  const wires: Wire[] = []
  await Promise.all(
    Array.from({ length: connectsAtOnceMax }, async () => {
      while (wires.length + connectsAtOnceMax < connections) wires.push(await connect(port))
    }),
  )
  while (wires.length < connections) wires.push(await connect(port))
  // All at once, so that what waits for them ends at once too.
  await Promise.all(wires.map(begin))
}

let requestNumber = 0
const encode = (request: LoopRequest): (() => Uint8Array) => {
  const { body = '', chunkLength } = request
  if (chunkLength !== undefined) {
    const headers: [string, string][] = [...(request.headers ?? []), ['Transfer-Encoding', 'chunked']]
    const bytes = Buffer.concat([headBytes({ ...request, headers }), chunkedBytes(body, chunkLength)])
    return () => bytes
  }
  if (!body.includes('{n}')) {
    const bytes = requestBytes(request, body)
    return () => bytes
  }
  return () => requestBytes(request, body.replaceAll('{n}', String(requestNumber++)))
}

const loop = async (port: number, { groups, pauseMs = 0, refusedPauseMs }: LoopAttack): Promise<void> => {
  const begun = groups.map(async ({ name, connections, requests }) => {
    const encoded = requests.map(encode)
    let next = 0
    const runOne = async (first: Wire): Promise<void> => {
      let wire = first
      for (;;) {
        wire.send(encoded[next++ % encoded.length]!())
        const outcome = await wire.answer().catch(() => 'ended')
        count(name, outcome)
        // Answered early or not, the server gets all of it.
        await wire.sent()
        if (outcome === 503) await Bun.sleep(refusedPauseMs)
        else if (pauseMs > 0) await Bun.sleep(pauseMs)
        if (wire.ended) {
          await Bun.sleep(1)
          wire = await connect(port)
        }
      }
    }
    let opening = 0
    await Promise.all(
      Array.from({ length: connectsAtOnceMax }, async () => {
        while (opening++ < connections) runOne(await connect(port))
      }),
    )
  })
  await Promise.all(begun)
}

/** Longer than any test. */
const endlessBytes = 2 ** 50
const streamRefusedPauseMs = 50

const stream = async (port: number, attack: StreamAttack): Promise<void> => {
  const { connections, text, times, isPacked = false } = attack
  const length: [string, string] = ['Content-Length', String(endlessBytes)]
  const packed: [string, string][] = isPacked ? [['Content-Encoding', 'gzip']] : []
  const head = headBytes({ ...attack.head, headers: [...(attack.head.headers ?? []), length, ...packed] })
  const [before, after] = text.split('{n}')
  const make = (): Uint8Array => {
    if (after === undefined) return Buffer.alloc(text.length * times, text)
    let block = ''
    for (let n = 0; n < times; n++) block += `${before}${requestNumber++}${after}`
    return Buffer.from(block)
  }
  const pack = (): Uint8Array => (isPacked ? Bun.gzipSync(Buffer.from(make())) : make())
  const first = pack()
  const runOne = async (): Promise<void> => {
    for (;;) {
      const wire = await connect(port)
      let isAnswered = false
      const answered = wire.answer().catch(() => 'ended')
      answered.then((outcome) => {
        isAnswered = true
        count('stream', outcome)
      })
      wire.send(head)
      while (!isAnswered && !wire.ended) {
        wire.send(after === undefined ? first : pack())
        await Promise.race([wire.sent(), answered])
        // Otherwise nothing is read while the system takes all.
        await Bun.sleep(0)
      }
      if ((await answered) !== 200) await Bun.sleep(streamRefusedPauseMs)
      wire.close()
    }
  }
  for (let n = 0; n < connections; n++) runOne()
}

const forge = async (port: number, attack: ForgeAttack): Promise<void> => {
  const { connections, requests, path, paddingBytes, keys } = attack
  const keyText = (): string => {
    if (typeof keys === 'object') return keys.real
    const key = generateApiKey('public')
    return keys === 'well-formed' ? key : `${key.slice(0, -1)}-`
  }
  let next = 0
  const runOne = async (): Promise<void> => {
    let wire = await connect(port)
    for (let n = next++; n < requests; n = next++) {
      // A real key repeats, so its padding has to differ.
      const padding = ' '.repeat(typeof keys === 'object' ? paddingBytes - (n % (paddingBytes - 1)) : paddingBytes)
      wire.send(headBytes({ method: 'GET', path, key: padding + keyText() }))
      count('forge', await wire.answer().catch(() => 'ended'))
      if (wire.ended) wire = await connect(port)
    }
    wire.close()
  }
  await Promise.all(Array.from({ length: connections }, runOne))
  finished = true
}

interface AttackOrder {
  port: number
  attack: Attack
}

await answerLines<AttackOrder, AttackReport>(async ({ port, attack }) => {
  if (attack.kind === 'hold') await hold(port, attack)
  else if (attack.kind === 'unread') {
    await openUnread(port, attack.connections, requestBytes(attack.head, attack.body))
    open = attack.connections
  } else if (attack.kind === 'loop') await loop(port, attack)
  else if (attack.kind === 'stream') await stream(port, attack)
  // It reports how far it is while it runs.
  else forge(port, attack)
  return report
})
