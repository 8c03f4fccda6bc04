import { OperatorError } from '../../core/operator-error.ts'
import { engineFlags, findStore, readEngineSettings } from '../../engines/open-engine.ts'
import { openClock } from '../../process/clock.ts'
import { createLogger } from '../../process/logger.ts'
import { serve } from '../../process/serve.ts'
import { testVariable } from '../../process/test-environment.ts'
import { isWorker } from '../../process/worker.ts'
import { type Allow, allowNothing, parseAllow } from '../../push/allow.ts'
import type { EngineFlag } from '../../store/settings.ts'
import { allowedOriginsFlag, parseAllowedOrigins } from '../allowed-origins.ts'
import { type Arguments, type Flag, parseCount, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine } from '../print.ts'
import { parsePublicUrl, publicUrlFlag } from '../public-url.ts'
import { filesFlag, placeOf } from '../target/place.ts'
import { sameStoreFlags, storeFlags, storeLocation } from '../target/store.ts'

const toFlag = (declared: EngineFlag): Flag =>
  declared.type === 'switch'
    ? { type: 'boolean', help: declared.help }
    : { type: 'string', value: declared.value, help: declared.help, default: String(declared.default) }

export const serveCommand: CliCommand = {
  name: 'serve',
  summary: 'run the server',
  details: `The first start on an empty store creates the organization "default" with a secret and a public key and
prints both, only once. Later starts print the command that creates another key. SIGTERM or SIGINT stops
the server after the accepted requests are answered.`,
  flags: {
    ...storeFlags,
    host: { type: 'string', value: 'H', help: 'address to listen on', default: '127.0.0.1' },
    port: { type: 'string', value: 'P', help: 'port to listen on; 0 picks a free one', default: '4600' },
    'public-url': publicUrlFlag,
    files: filesFlag,
    'push-allow': {
      type: 'string',
      value: 'CIDR,…',
      help: 'networks to which runs may be pushed although they are not public; http too',
    },
    'no-tasks': { type: 'boolean', help: 'push and schedule nothing, answer claims empty: for a trial restore' },
    'no-mcp': { type: 'boolean', help: 'without the tools of agents at /mcp' },
    'allowed-origins': allowedOriginsFlag,
    workers: { type: 'string', value: 'N', help: 'processes that serve the port', default: '1' },
    ...Object.fromEntries(Object.entries(engineFlags).map(([name, declared]) => [name, toFlag(declared)])),
    'no-bootstrap': { type: 'boolean', help: 'create no organization on an empty store' },
    log: { type: 'string', value: 'WHAT', help: '"requests" logs a line for every request' },
  },
  async run(args) {
    const location = storeLocation(args)
    const options = {
      host: args.text('host')!,
      port: parseCount(args, 'port', 0, 65_535),
      files: placeOf(location, args.text('files')),
      filesAreGiven: args.text('files') !== undefined,
      publicUrl: parsePublicUrl(args.text('public-url')),
      pushAllow: parsePushAllow(args),
      handsOutTasks: !args.flag('no-tasks'),
      hasMcp: !args.flag('no-mcp'),
      allowedOrigins: parseAllowedOrigins(args.text('allowed-origins')),
      workers: parseCount(args, 'workers', 1, 256),
      bootstrap: !args.flag('no-bootstrap'),
      logRequests: parseLog(args.text('log')),
      clock: openClock(process.env),
    }
    const settings = parseEngineSettings(args)
    const log = createLogger()
    if (location.store === undefined && args.text('store') !== undefined && !isWorker()) {
      log('warn', 'CUBBY_STORE is not used: --data is given')
    }
    const store = await findStore(location, settings)
    return serve({ ...options, store, storeFlags: sameStoreFlags(args), log, print: printLine })
  },
}

const parseEngineSettings = (args: Arguments) =>
  readEngineSettings({
    count(flag) {
      const declared = engineFlags[flag] as Extract<EngineFlag, { type: 'count' }>
      return parseCount(args, flag, declared.min, declared.max)
    },
    isSet: (flag) => args.flag(flag),
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
