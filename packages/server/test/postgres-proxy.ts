import { connect as connectSocket, createServer, type Socket } from 'node:net'

// A proxy before PostgreSQL that answers chosen statements with an error, as the coordinator of Citus does when it loses a
// worker. It knows as much of the wire protocol as that takes: https://www.postgresql.org/docs/current/protocol-message-formats.html

/** A statement that the engine has sent. */
export interface ProxiedStatement {
  name: string
  text: string
  /** The values as text; null also for values that are sent as bytes. */
  values: (string | null)[]
}

export interface Fault {
  matches(statement: ProxiedStatement): boolean
  sqlState: string
  message: string
  /** True: the server has executed the statement before the error is answered. False: the transaction is aborted. */
  applied: boolean
  /** The number of statements that fail; absent: all of them. */
  timesMax?: number
}

/** Where a connection breaks. */
export interface Cut {
  matches(statement: ProxiedStatement): boolean
  /** True: the server has executed the statement, and its answer is lost. False: the server does not get the statement. */
  applied: boolean
}

export interface PostgresProxy {
  /** The same database through the proxy. */
  urlOf(url: string): string
  /** The fault from now on; undefined: none. */
  fault: Fault | undefined
  /** The next cut; undefined: none, or it has happened. */
  cut: Cut | undefined
  /** The names of all statements that were sent, in order. */
  sent: string[]
  /** The number of statements that were answered with an error. */
  failed: number
  close(): Promise<void>
}

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type, 0)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const errorResponse = ({ sqlState, message: text }: Fault): Buffer =>
  message('E', Buffer.from(`SERROR\0VERROR\0C${sqlState}\0M${text}\0\0`))

/** Messages that raise the error on the server itself, in place of a statement. */
const raising = ({ sqlState, message: text }: Fault): Buffer => {
  const sql = `do $fault$ begin raise exception using errcode = '${sqlState}', message = $text$${text}$text$; end $fault$`
  return Buffer.concat([
    message('P', Buffer.from(`\0${sql}\0\0\0`)),
    message('B', Buffer.from('\0\0\0\0\0\0\0\0')),
    message('E', Buffer.from('\0\0\0\0\0')),
  ])
}

/** Cuts a stream into messages. The first one of a client has no type. */
const splitter = (isUntyped: boolean, take: (type: string, whole: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  let untyped = isUntyped
  return (chunk: Buffer): void => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const lengthAt = untyped ? 0 : 1
      if (rest.length < lengthAt + 4) return
      const size = lengthAt + rest.readInt32BE(lengthAt)
      if (rest.length < size) return
      take(untyped ? '' : String.fromCharCode(rest[0]!), rest.subarray(0, size))
      untyped = false
      rest = rest.subarray(size)
    }
  }
}

/** The text that ends with a zero byte, and where it ends. */
const textAt = (whole: Buffer, at: number): [text: string, end: number] => {
  const end = whole.indexOf(0, at)
  return [whole.toString('utf8', at, end), end + 1]
}

/** The values of a Bind, from behind its two names on. */
const valuesOf = (whole: Buffer, from: number): (string | null)[] => {
  const formats = whole.readInt16BE(from)
  let at = from + 2
  const isBytes = Array.from({ length: formats }, (_, i) => whole.readInt16BE(at + 2 * i) === 1)
  at += 2 * formats
  const values: (string | null)[] = []
  const count = whole.readInt16BE(at)
  at += 2
  for (let i = 0; i < count; i++) {
    const size = whole.readInt32BE(at)
    at += 4
    values.push(size < 0 || isBytes[i] ? null : whole.toString('utf8', at, at + size))
    at += Math.max(size, 0)
  }
  return values
}

/** What a statement meets. */
type Met = { fault: Fault } | { cut: Cut } | undefined

/** One connection. `take` says what a statement meets. */
const join = (client: Socket, server: Socket, take: (statement: ProxiedStatement) => Met): void => {
  const texts = new Map<string, string>()
  let bound: ProxiedStatement = { name: '', text: '', values: [] }
  /** By Sync: what each statement before it meets when it has been executed. */
  const pipelines: Met[][] = [[]]
  let done = 0
  let isSkipping = false

  const toServer = splitter(true, (type, whole) => {
    let sent: Buffer = whole
    if (type === 'P') {
      const [name, at] = textAt(whole, 5)
      texts.set(name, textAt(whole, at)[0])
    } else if (type === 'B') {
      const [name, at] = textAt(whole, textAt(whole, 5)[1])
      bound = { name, text: texts.get(name) ?? '', values: valuesOf(whole, at) }
    } else if (type === 'E') {
      const met = take(bound)
      if (met !== undefined && 'cut' in met && !met.cut.applied) {
        client.destroy()
        return
      }
      if (met !== undefined && 'fault' in met && !met.fault.applied) sent = raising(met.fault)
      const isLater = met !== undefined && ('fault' in met ? met.fault : met.cut).applied
      pipelines.at(-1)!.push(isLater ? met : undefined)
    } else if (type === 'S' || type === 'Q') {
      pipelines.push([])
    }
    if (!client.destroyed) server.write(sent)
  })
  const toClient = splitter(false, (type, whole) => {
    // Ready for the next query: also once after the start of the session.
    if (type === 'Z') {
      if (isStarted) pipelines.shift()
      isStarted = true
      done = 0
      isSkipping = false
    }
    if (isSkipping) return
    const met = pipelines[0]?.[done]
    if (met !== undefined && type === 'D') return
    if (type === 'C' || type === 'I') {
      done++
      if (met !== undefined) {
        isSkipping = true
        if ('cut' in met) client.destroy()
        else client.write(errorResponse(met.fault))
        return
      }
    }
    client.write(whole)
  })
  let isStarted = false
  client.on('data', toServer)
  server.on('data', toClient)
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => {})
    one.on('close', () => other.destroy())
  }
}

export const startPostgresProxy = async (port: number): Promise<PostgresProxy> => {
  const open = new Set<Socket>()
  const listener = createServer((client) => {
    const server = connectSocket(port, '127.0.0.1')
    open.add(client)
    client.on('close', () => open.delete(client))
    join(client, server, (statement) => {
      proxy.sent.push(statement.name)
      const { fault, cut } = proxy
      if (cut?.matches(statement)) {
        proxy.cut = undefined
        return { cut }
      }
      if (fault === undefined || !fault.matches(statement)) return undefined
      if (proxy.failed >= (fault.timesMax ?? Number.POSITIVE_INFINITY)) return undefined
      proxy.failed++
      return { fault }
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const own = (listener.address() as { port: number }).port
  const proxy: PostgresProxy = {
    urlOf: (url) => url.replace(`:${port}/`, `:${own}/`),
    fault: undefined,
    cut: undefined,
    sent: [],
    failed: 0,
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => listener.close(() => resolve()))
    },
  }
  return proxy
}
