import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Run } from '../../src/core/tasks/run.ts'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import { parseAllow } from '../../src/push/allow.ts'
import { type Push, type PushOptions, type PushOutcome, pushRun } from '../../src/push/push-run.ts'
import { certify, makeAuthority, makePair } from '../certificates.ts'

export const authority = makeAuthority('Ours')

/** A certificate of `authority` for `host`, with its key. */
export const certificateFor = (host: string) => {
  const { privateKey, publicKey } = makePair()
  return {
    cert: certify(host, publicKey, authority, host),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}

/** A real listener that counts connections and shows the bytes of the first request. */
export interface Listener {
  port: number
  /** The connections since the start. */
  connections: number
  open: Set<Socket>
  /** The text of the last request. */
  received: string
  /** The name that the last client has asked for, with TLS. */
  serverName: string | false | undefined
  close(): Promise<void>
}

export type Reply = string | Uint8Array | ((socket: Socket) => void)

export interface ListenOptions {
  host?: string
  port?: number
  /** The listener has TLS, for this name. */
  name?: string
}

/** `answer` is sent once the whole request is there. Afterwards the connection stays open, unless `answer` closes it. */
export const listen = async (answer: Reply, { host = '127.0.0.1', port = 0, name }: ListenOptions = {}) => {
  const listener: Listener = {
    port: 0,
    connections: 0,
    open: new Set(),
    received: '',
    serverName: undefined,
    close: async () => {},
  }
  const serve = (socket: Socket): void => {
    let text = ''
    listener.serverName = (socket as { servername?: string }).servername
    socket.on('error', () => {})
    socket.on('data', (chunk: Uint8Array) => {
      text += Buffer.from(chunk).toString('latin1')
      if (!isWhole(text)) return
      listener.received = text
      text = ''
      if (typeof answer === 'function') answer(socket)
      else socket.write(answer)
    })
  }
  const server: Server =
    name === undefined ? createServer(serve) : (createTlsServer(certificateFor(name), serve) as unknown as Server)
  server.on('connection', (socket: Socket) => {
    listener.connections++
    listener.open.add(socket)
    socket.on('close', () => listener.open.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject)
    server.listen(port, host, resolve)
  })
  listener.port = (server.address() as { port: number }).port
  listener.close = () =>
    new Promise((resolve) => {
      for (const socket of listener.open) socket.destroy()
      server.close(() => resolve())
    })
  return listener
}

const isWhole = (text: string): boolean => {
  const [head, ...rest] = text.split('\r\n\r\n')
  return rest.length > 0 && rest.join('\r\n\r\n').length >= Number(/content-length: (\d+)/i.exec(head!)?.[1] ?? 0)
}

/** A complete answer with a body. */
export const http = (status: number, body: string | Uint8Array = '', headers = ''): Buffer =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} Any\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n`),
    Buffer.from(body as string),
  ])

export const aRun = (changes: Partial<Run> = {}): Run => ({
  user: null,
  ...{ seq: 1, taskId: 1, id: 'run_1', status: 'running', key: null, payload: '{"to":"ada"}', runAtMs: 0, attempt: 3 },
  ...{ progress: null, result: null, error: null, createdAtMs: 0, updatedAtMs: 0, finishedAtMs: null },
  ...{ lease: 'lease_1', leaseUntilMs: 0, doneLease: null, held: false },
  ...changes,
})

export const secret = newTaskSecret()

export const loopback = parseAllow('127.0.0.0/8')

/** One attempt, by default with everything on loopback allowed. `ms` is its deadline: by default one that only a fault meets. */
export const push = (
  url: string,
  options: Partial<PushOptions> & { ms?: number } = {},
  changes: Partial<Push> = {},
): Promise<PushOutcome> =>
  pushRun(
    { url, authorization: null, secrets: [secret], db: 'app', task: 'mail', run: aRun(), ...changes },
    {
      allow: loopback,
      signal: AbortSignal.timeout(options.ms ?? 60_000),
      nowMs: Date.now(),
      ca: authority.certificate,
      resolve: async () => ['127.0.0.1'],
      ...options,
    },
  )

/** Waits until it holds; false after so long that only a fault explains it. */
export const comes = async (holds: () => boolean): Promise<boolean> => {
  for (let tries = 0; tries < 3_000 && !holds(); tries++) await Bun.sleep(10)
  return holds()
}
