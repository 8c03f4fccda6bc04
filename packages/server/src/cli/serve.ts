import { startKeyUse } from '../background/key-use.ts'
import { startSweeps } from '../background/sweeps.ts'
import { makeApiKey } from '../core/api-key.ts'
import type { Engine } from '../core/engine.ts'
import { stopMsMax } from '../core/limits.ts'
import { describeLocation, openEngine } from '../engines/open-engine.ts'
import { type HttpServer, startHttp } from '../http/server.ts'
import { openClock } from './clock.ts'
import {
  type Arguments,
  type CliCommand,
  CommandFailed,
  printLine,
  storeFlags,
  storeLocation,
  UsageError,
} from './command.ts'
import { createLogger } from './logger.ts'

export const serveCommand: CliCommand = {
  name: 'serve',
  summary: 'run the service',
  details: `The very first start makes the organization "default" with a secret and a public key and prints
both, once. SIGTERM or SIGINT stops it: accepted requests are finished first.`,
  flags: {
    ...storeFlags,
    host: { type: 'string', value: 'H', help: 'address to listen on', default: '127.0.0.1' },
    port: { type: 'string', value: 'P', help: 'port to listen on; 0 takes a free one', default: '4600' },
    'pool-size': { type: 'string', value: 'N', help: 'with --store: connections to the database', default: '8' },
    'statement-timeout': {
      type: 'string',
      value: 'MS',
      help: 'with --store: what a statement may take',
      default: '5000',
    },
    'no-bootstrap': { type: 'boolean', help: 'make no organization on an empty store' },
    log: { type: 'string', value: 'WHAT', help: '"requests" logs a line for every request' },
  },
  async run(args) {
    const port = parseCount(args, 'port', 0, 65_535)
    const host = args.text('host')!
    const logRequests = parseLog(args.text('log'))
    const clock = openClock(process.env)
    const log = createLogger()
    const location = storeLocation(args)
    const engine = await openEngine(location, {
      role: 'owner',
      log,
      poolSize: parseCount(args, 'pool-size', 1, 1_000),
      statementMsMax: parseCount(args, 'statement-timeout', 1, 600_000),
      sweepClock: clock.isMoved ? 'caller' : 'database',
    })
    const keyUse = startKeyUse(engine, log, clock.keyUseEveryMs)
    let http: HttpServer
    try {
      http = startHttp({ engine, host, port, now: clock.now, log, logRequests, onKeyUse: keyUse.note })
    } catch (error) {
      await engine.close()
      throw listenFailure(error, host, port)
    }
    const sweeps = startSweeps({ engine, now: clock.now, log, everyMs: clock.sweepEveryMs })
    process.on('uncaughtException', (error) => log('error', 'uncaught', { cause: error.stack ?? String(error) }))
    process.on('unhandledRejection', (reason) => log('error', 'unhandled', { cause: String(reason) }))
    const signal = untilSignal()
    log('info', 'listening', { url: http.url, engine: engine.description, data: describeLocation(location) })
    if (!args.flag('no-bootstrap')) await bootstrap(engine, http.url, clock.now())

    log('info', 'stopping', { signal: await signal })
    await stopWithin(stopMsMax - 1_500, http)
    await sweeps.stop()
    await keyUse.stop()
    await engine.close()
    log('info', 'stopped')
    return 0
  },
}

const parseCount = (args: Arguments, flag: string, least: number, most: number): number => {
  const text = args.text(flag)!
  const count = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
  if (Number.isInteger(count) && count >= least && count <= most) return count
  throw new UsageError(`--${flag} is "${text}"; it takes ${least} to ${most}`)
}

const parseLog = (text: string | undefined): boolean => {
  if (text === undefined || text === 'requests') return text === 'requests'
  throw new UsageError(`--log is "${text}"; it takes "requests"`)
}

const listenFailure = (error: unknown, host: string, port: number): Error => {
  const code = (error as { code?: string }).code
  if (code === 'EADDRINUSE') {
    return new CommandFailed(`port ${port} on ${host} is taken; stop what listens there or give another --port`)
  }
  if (code === 'EACCES') return new CommandFailed(`port ${port} on ${host} may not be opened by this user`)
  if (code === 'ENOENT' || code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL') {
    return new CommandFailed(`${host} is not an address of this machine; give another --host`)
  }
  return new CommandFailed(`cannot listen on ${host}:${port}: ${(error as Error).message}`)
}

const untilSignal = (): Promise<string> =>
  new Promise((done) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => done(signal))
  })

const stopWithin = async (ms: number, http: HttpServer): Promise<void> => {
  const timer = setTimeout(() => http.cut(), ms)
  await http.stop()
  clearTimeout(timer)
}

/** Keys are printed here and nowhere else: plain standard output, outside the log. */
const bootstrap = async (engine: Engine, url: string, nowMs: number): Promise<void> => {
  const secret = makeApiKey({ kind: 'secret' })
  const open = makeApiKey({ kind: 'public' })
  const organization = await engine.bootstrap('default', [secret.kept, open.kept], nowMs)
  if (organization === undefined) return
  printLine(`
Cubby is running. These keys of the organization "default" are shown this once:

  secret key  ${secret.text}  reads and writes: keep it on your server
  public key  ${open.text}   reads only: for browsers

Make a table, put a record into it, and read it:

  export CUBBY_URL=${url} CUBBY_KEY=${secret.text}
  curl -X POST $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY"
  curl -X PUT $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY" -H 'Content-Type: application/json' -d '{"hashKey":"first","data":{"text":"hello"}}'
  curl $CUBBY_URL/v1/app/notes/first -H "Authorization: Bearer $CUBBY_KEY"
`)
}
