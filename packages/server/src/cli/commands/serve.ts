import { OperatorError } from '../../core/operator-error.ts'
import { engineFlags, findStore, readEngineSettings } from '../../engines/open-engine.ts'
import { openClock } from '../../process/clock.ts'
import { createLogger } from '../../process/logger.ts'
import { serve } from '../../process/serve.ts'
import { testVariable } from '../../process/test-environment.ts'
import { isWorker } from '../../process/worker.ts'
import { type Allow, allowNothing, parseAllow } from '../../push/allow.ts'
import type { EngineFlag } from '../../store/settings.ts'
import { type Arguments, type Flag, parseCount, parseDurationFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine, tellOutputFailure } from '../print.ts'
import {
  allowedOriginsFlag,
  metricsFlag,
  parseAllowedOrigins,
  parseMetricsAddress,
  parsePublicUrl,
  publicUrlFlag,
} from '../serve-flags.ts'
import { blobStoreUrlAt, filesFlag } from '../target/blob-store.ts'
import { sameStoreFlags, storeFlags, storeLocation } from '../target/store.ts'

const toFlag = (declared: EngineFlag): Flag => {
  const { type, help } = declared
  if (type === 'switch') return { type: 'boolean', help }
  const flag: Flag = { type: 'string', value: declared.value, help }
  return type === 'text' ? flag : { ...flag, default: String(declared.default) }
}

export const serveCommand: CliCommand = {
  name: 'serve',
  summary: 'run the server',
  details: `The first start on an empty store creates the organization "default" with a secret and a public key and
prints both, only once, with a link that signs in to the console for 15 minutes. Later starts print the
commands that create another key and another link. SIGTERM or SIGINT stops the server after the accepted
requests are answered.`,
  example: 'cubby serve --data /var/lib/cubby --port 4600',
  flags: {
    ...storeFlags,
    host: { type: 'string', value: 'H', help: 'address to listen on', default: '127.0.0.1' },
    port: { type: 'string', value: 'P', help: 'port to listen on; 0 picks a free one', default: '4600' },
    'public-url': publicUrlFlag,
    files: filesFlag,
    'adopt-files': {
      type: 'boolean',
      help: 'take the place of the files over from another store; see docs/running.md',
    },
    'small-files-in-store': {
      type: 'boolean',
      help: 'keep files up to 16 KiB in the store also if their place is S3',
    },
    'no-small-files-in-store': {
      type: 'boolean',
      help: 'keep them in the directory: less in the store, and fewer uploads a second',
    },
    'push-allow': {
      type: 'string',
      value: 'CIDR,…',
      help: 'networks to which runs may be pushed although they are not public; http too',
    },
    'no-tasks': { type: 'boolean', help: 'push and schedule nothing, answer claims empty: for a trial restore' },
    'no-console': { type: 'boolean', help: 'without the web page at /console' },
    'no-mcp': { type: 'boolean', help: 'without the tools of agents at /mcp' },
    'allowed-origins': allowedOriginsFlag,
    workers: { type: 'string', value: 'N', help: 'processes that serve the port', default: '1' },
    ...Object.fromEntries(Object.entries(engineFlags).map(([name, declared]) => [name, toFlag(declared)])),
    'no-bootstrap': { type: 'boolean', help: 'create no organization on an empty store' },
    log: { type: 'string', value: 'WHAT', help: '"requests" logs a line for every request' },
    'log-slow': { type: 'string', value: 'MS', help: 'log requests that take at least so many milliseconds' },
    metrics: metricsFlag,
  },
  async run(args) {
    const location = storeLocation(args)
    const options = {
      host: args.text('host')!,
      port: parseCount(args, 'port', 0, 65_535),
      files: blobStoreUrlAt(location, args.text('files')),
      filesAreGiven: args.text('files') !== undefined,
      adoptsFiles: args.flag('adopt-files'),
      smallFilesInStore: args.flag('no-small-files-in-store') ? false : args.flag('small-files-in-store') || undefined,
      publicUrl: parsePublicUrl(args.text('public-url')),
      pushAllow: parsePushAllow(args),
      handsOutTasks: !args.flag('no-tasks'),
      hasConsole: !args.flag('no-console'),
      hasMcp: !args.flag('no-mcp'),
      allowedOrigins: parseAllowedOrigins(args.text('allowed-origins')),
      workers: parseCount(args, 'workers', 1, 256),
      bootstrap: !args.flag('no-bootstrap'),
      logRequests: parseLog(args.text('log')),
      logSlowMs: args.text('log-slow') === undefined ? undefined : parseCount(args, 'log-slow', 0, 3_600_000),
      metrics: parseMetricsAddress(args),
      clock: openClock(process.env),
    }
    const settings = parseEngineSettings(args)
    const log = createLogger()
    tellOutputFailure(({ message }) => log('error', 'the output could not be written', { cause: message }))
    if (location.store === undefined && args.text('store') !== undefined && !isWorker()) {
      log('warn', 'CUBBY_STORE is not used: --data is given')
    }
    const store = await findStore(location, settings)
    const keepDeadBlobsMs = settings.sqlite.archive?.keepMs ?? 0
    return serve({ ...options, keepDeadBlobsMs, store, storeFlags: sameStoreFlags(args), log, print: printLine })
  },
}

const parseEngineSettings = (args: Arguments) =>
  readEngineSettings({
    count(flag) {
      const declared = engineFlags[flag] as Extract<EngineFlag, { type: 'count' }>
      return parseCount(args, flag, declared.min, declared.max)
    },
    isSet: (flag) => args.flag(flag),
    text: (flag) => args.text(flag),
    durationMs(flag) {
      const declared = engineFlags[flag] as Extract<EngineFlag, { type: 'duration' }>
      return parseDurationFlag(args, flag, declared.minMs, declared.maxMs)
    },
    testVariable: (name) => testVariable(process.env, name),
  })

const parsePushAllow = (args: Arguments): Allow => {
  const text = args.text('push-allow')
  if (text === undefined) return allowNothing
  try {
    return parseAllow(text)
  } catch (error) {
    if (error instanceof OperatorError) throw new UsageError(error.message)
    throw error
  }
}

const parseLog = (text: string | undefined): boolean => {
  if (text === undefined || text === 'requests') return text === 'requests'
  throw new UsageError(`--log is "${text}"; it takes "requests"`)
}
