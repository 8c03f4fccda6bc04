import { servedAgentPages } from '../../src/agents/served-pages.ts'
import { makeApiKey } from '../../src/core/api-keys/api-key.ts'
import { CubbyError } from '../../src/core/errors.ts'
import { openEngine } from '../../src/engines/open-engine.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import { respondJson } from '../../src/http/respond.ts'
import { type Route, type RouteTable, routes } from '../../src/http/routes.ts'
import { startHttp } from '../../src/http/server.ts'
import { descriptionPages } from '../../src/openapi/pages.ts'
import { createLogger } from '../../src/process/logger.ts'
import { makeTaskServices } from '../../src/process/serve-http.ts'
import { allowNothing } from '../../src/push/allow.ts'

// A server with the routes of the API and one that reads a stream, `PUT /streams/:kind`. In a process of its own, so that its
// memory can be measured. Its first line on standard output says where it is and which keys it has.

const mib = 1_048_576
export const uploadBytesMax = 300 * mib

/** The observations of the handlers, for tests to look at. */
const seen = {
  /** Uploads whose loop runs. */
  uploads: 0,
  /** Handlers that have read their upload and work on, until `PUT /streams/finish`. */
  working: 0,
  /** Bytes of uploads that were read. */
  bytes: 0,
  /** Codes of the errors that ended an upload. */
  faults: [] as string[],
}

const chunkPauseMs: Record<string, number> = { slow: 20, stuck: 600_000 }

const finish = Promise.withResolvers<void>()

const receive = async (exchange: Exchange): Promise<Response> => {
  const { kind } = exchange.params
  if (kind === 'refused') throw new CubbyError('table_not_found', 'Refused before the body is read.')
  const hash = new Bun.CryptoHasher('sha256')
  let bytes = 0
  const chunks = exchange.readStream(kind === 'small' ? 100_000 : uploadBytesMax)
  seen.uploads++
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length
      seen.bytes += chunk.length
      hash.update(chunk)
      if (kind === 'left') break
      // The first two mebibytes only, so that a slow reader meets a fast sender and the test still ends.
      const pauseMs = chunkPauseMs[kind!]
      if (pauseMs !== undefined && bytes < 4 * mib) await Bun.sleep(pauseMs)
    }
  } catch (error) {
    seen.faults.push(error instanceof CubbyError ? error.code : String(error))
    throw error
  } finally {
    seen.uploads--
  }
  if (kind === 'finish') finish.resolve()
  if (kind === 'working') {
    seen.working++
    await finish.promise
  }
  return respondJson(exchange.requestId, { bytes, sha256: hash.digest('hex') })
}

// Limits are half a minute: tests move the clock that they are measured with.
const now = performance.now.bind(performance)
let aheadMs = 0
performance.now = () => now() + aheadMs

const ownRoutes: RouteTable = {
  ...routes,
  '/streams/:kind': {
    PUT: { operationId: 'upload' as Route['operationId'], keyNeeded: 'write', body: 'stream', handler: receive },
  },
  '/seen': {
    GET: {
      operationId: 'seen' as Route['operationId'],
      keyNeeded: 'read',
      handler: ({ requestId }) => respondJson(requestId, seen),
    },
  },
  '/clock/:ms': {
    GET: {
      operationId: 'clock' as Route['operationId'],
      keyNeeded: 'read',
      handler: ({ requestId, params }) => {
        aheadMs += Number(params.ms)
        return respondJson(requestId, seen)
      },
    },
  },
}

if (import.meta.main) {
  const log = createLogger()
  const engine = await openEngine({ data: process.argv[2]!, store: undefined }, { role: 'owner', log })
  const http = startHttp({
    engine,
    tasks: makeTaskServices({ clock: Date, handsOutTasks: true, pushAllow: allowNothing }, engine),
    host: '127.0.0.1',
    port: 0,
    now: Date.now,
    log,
    logRequests: false,
    pages: descriptionPages(),
    agentPages: servedAgentPages(false),
    onKeyUse: () => {},
    routes: ownRoutes,
  })
  const keys: string[][] = []
  for (const name of ['one', 'two']) {
    const made = [makeApiKey({ kind: 'secret' }), makeApiKey({ kind: 'secret' })]
    await engine.organizations.create(
      name,
      made.map(({ kept }) => kept),
      Date.now(),
    )
    keys.push(made.map(({ text }) => text))
  }
  console.log(JSON.stringify({ url: http.url, keys }))
  process.once('SIGTERM', async () => {
    await http.stop()
    await engine.close()
    process.exit(0)
  })
}
