import { get as getPlain, type IncomingMessage } from 'node:http'
import { get as getSecure } from 'node:https'
import { OperatorError } from '../../core/operator-error.ts'
import { urlOf } from '../../process/listen.ts'
import { type Arguments, parseCount, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine } from '../print.ts'
import { defaultUrl, parseServerUrl } from '../target/remote.ts'
import { serveCommand } from './serve.ts'

/** The answer is a small object. */
const responseBytesMax = 4_096

export const healthCommand: CliCommand = {
  name: 'health',
  summary: 'check that a server can serve',
  details: `Exits with 0 and one line if the server can serve, and with 1 and the reason if not. The command needs no key:
health checks of containers and scripts can use it. Without --url it asks the server that cubby serve
starts with the same --host and --port, or CUBBY_HOST and CUBBY_PORT. Variables for proxies have no effect.`,
  example: 'cubby health --url http://127.0.0.1:4600',
  flags: {
    url: { type: 'string', value: 'URL', help: `the server's address (${defaultUrl})` },
    host: { ...serveCommand.flags.host!, help: 'the address that the server listens on' },
    port: { ...serveCommand.flags.port!, help: 'the port that the server listens on' },
    live: { type: 'boolean', help: 'only check that the process is alive, not that its store can be read' },
    timeout: { type: 'string', value: 'MS', help: 'how long the answer may take', default: '5000' },
  },
  async run(args) {
    const url = urlToAsk(args)
    const [path, status] = args.flag('live') ? ['/healthz', 'ok'] : ['/readyz', 'ready']
    const answer = await ask(`${url}${path}`, parseCount(args, 'timeout', 1, 600_000)).catch((error: Error) => {
      throw new OperatorError(`no answer from ${url}: ${reasonOf(error)}`)
    })
    const body = parseBody(answer.text)
    if (answer.status === 200 && body?.status === status) {
      printLine(`ok: ${url} ${status === 'ok' ? 'is alive' : 'can serve'}`)
      return 0
    }
    const said = typeof body?.error?.message === 'string' ? `: ${body.error.message}` : '; is it a Cubby server?'
    throw new OperatorError(`${url} answered ${answer.status}${said}`)
  },
}

/** A flag wins over the environment, and the address wins over its parts. */
const urlToAsk = (args: Arguments): string => {
  const partIsGiven = args.isGiven('host') || args.isGiven('port')
  if (args.isGiven('url') && partIsGiven) throw new UsageError('--url has a host and a port: give only one of them')
  if (args.text('url') !== undefined && !partIsGiven) return parseServerUrl(args)
  return urlOf(reachable(args.text('host')!), parseCount(args, 'port', 1, 65_535))
}

/** A server that listens on all addresses is asked on the one that every machine has. */
const reachable = (host: string): string => ({ '0.0.0.0': '127.0.0.1', '::': '::1' })[host] ?? host

interface HealthResponse {
  status: number
  text: string
}

// `fetch` would ask a proxy that the environment names for the server on this machine.
const ask = (url: string, timeoutMs: number): Promise<HealthResponse> =>
  new Promise((resolve, reject) => {
    const get = url.startsWith('https:') ? getSecure : getPlain
    const request = get(url, { agent: false, headers: { connection: 'close' } }, (response) => {
      readStart(response).then((text) => settle(() => resolve({ status: response.statusCode!, text })), fail)
    })
    const timer = setTimeout(() => fail(new Error(`none within ${timeoutMs} ms`)), timeoutMs)
    const settle = (report: () => void): void => {
      clearTimeout(timer)
      report()
      request.destroy()
    }
    const fail = (error: Error): void => settle(() => reject(error))
    request.on('error', fail)
  })

/** No more than it needs: whatever answers there may send without end. */
const readStart = async (response: IncomingMessage): Promise<string> => {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response) {
    parts.push(part)
    bytes += part.length
    if (bytes > responseBytesMax) break
  }
  return Buffer.concat(parts).toString()
}

// biome-ignore lint/suspicious/noExplicitAny: another server may have answered anything.
const parseBody = (text: string): any => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const reasonOf = (error: Error): string =>
  (error as { code?: string }).code === 'ECONNREFUSED' ? 'nothing listens there' : error.message
