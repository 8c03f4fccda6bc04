import { startKeyUse } from '../../background/key-use.ts'
import { startSweeps } from '../../background/sweeps.ts'
import { stopMsMax } from '../../core/limits.ts'
import { describeLocation } from '../../engines/open-engine.ts'
import { type HttpServer, startHttp } from '../../http/server.ts'
import { descriptionPages } from '../../openapi/pages.ts'
import { openClock } from '../../process/clock.ts'
import { createLogger } from '../../process/logger.ts'
import {
  bootstrap,
  listenFailure,
  openServingEngine,
  type ServeOptions,
  stayUp,
  stopWithin,
  untilSignal,
} from '../../process/serving.ts'
import { isWorker, serveAsWorker, serveWithWorkers } from '../../process/workers.ts'
import { type Arguments, type CliCommand, storeFlags, storeLocation, UsageError } from '../command.ts'

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
    workers: { type: 'string', value: 'N', help: 'serving processes on the one port', default: '1' },
    'no-mmap': {
      type: 'boolean',
      help: 'read the store without a memory map: slower, but a bad sector ends no process',
    },
    'no-bootstrap': { type: 'boolean', help: 'make no organization on an empty store' },
    log: { type: 'string', value: 'WHAT', help: '"requests" logs a line for every request' },
  },
  run(args) {
    const options = parseOptions(args)
    if (isWorker()) return serveAsWorker(options)
    if (options.location.store === undefined && args.text('store') !== undefined) {
      options.log('warn', 'CUBBY_STORE is not used: --data is given')
    }
    return options.workers > 1 ? serveWithWorkers(options) : serveAlone(options)
  },
}

const parseOptions = (args: Arguments): ServeOptions => ({
  location: storeLocation(args),
  host: args.text('host')!,
  port: parseCount(args, 'port', 0, 65_535),
  workers: parseCount(args, 'workers', 1, 256),
  poolSize: parseCount(args, 'pool-size', 1, 1_000),
  statementMsMax: parseCount(args, 'statement-timeout', 1, 600_000),
  noMmap: args.flag('no-mmap'),
  bootstrap: !args.flag('no-bootstrap'),
  logRequests: parseLog(args.text('log')),
  clock: openClock(process.env),
  log: createLogger(),
})

const serveAlone = async (options: ServeOptions): Promise<number> => {
  const { host, port, location, clock, log, logRequests } = options
  let http: HttpServer | undefined
  const engine = await openServingEngine(options, async () => http?.stop())
  const keyUse = startKeyUse(engine.apiKeys, log, clock.keyUseEveryMs)
  try {
    http = startHttp({
      engine,
      host,
      port,
      now: clock.now,
      log,
      logRequests,
      pages: descriptionPages,
      onKeyUse: keyUse.note,
    })
  } catch (error) {
    await engine.close()
    throw listenFailure(error, host, port)
  }
  const { now, leapHoldMs, sweepEveryMs: everyMs } = clock
  const sweeps = startSweeps({ maintenance: engine.maintenance, now, log, leapHoldMs, everyMs })
  stayUp(log)
  const signal = untilSignal()
  log('info', 'listening', { url: http.url, engine: engine.description, data: describeLocation(location) })
  if (options.bootstrap) await bootstrap(engine, http.url, clock.now())

  log('info', 'stopping', { signal: await signal })
  await stopWithin(stopMsMax - 1_500, http)
  await sweeps.stop()
  await keyUse.stop()
  await engine.close()
  log('info', 'stopped')
  return 0
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
