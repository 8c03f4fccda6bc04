import { CommandFailed, printLine } from '../cli/command.ts'
import { makeApiKey } from '../core/api-keys/api-key.ts'
import type { Log } from '../core/log.ts'
import { openEngine, type StoreLocation } from '../engines/open-engine.ts'
import type { HttpServer } from '../http/server.ts'
import type { Engine } from '../store/engine.ts'
import { type Clock, testFaults } from './clock.ts'

// What serving takes, alone or with workers.

export interface ServeOptions {
  location: StoreLocation
  host: string
  port: number
  workers: number
  noMmap: boolean
  poolSize: number
  statementMsMax: number
  bootstrap: boolean
  logRequests: boolean
  clock: Clock
  log: Log
}

/** `drain`: see SqliteOptions. */
export const openServingEngine = (
  { location, noMmap, poolSize, statementMsMax, clock, log }: ServeOptions,
  drain?: () => Promise<unknown>,
): Promise<Engine> =>
  openEngine(location, {
    role: 'owner',
    log,
    noMmap,
    drain,
    poolSize,
    statementMsMax,
    sweepClock: clock.isMoved ? 'caller' : 'database',
    leaseMs: clock.leaseMs,
    faults: testFaults(process.env),
  })

/** A fault that nobody caught is logged; the process goes on. */
export const stayUp = (log: Log): void => {
  process.on('uncaughtException', (error) => log('error', 'uncaught', { cause: error.stack ?? String(error) }))
  process.on('unhandledRejection', (reason) => log('error', 'unhandled', { cause: String(reason) }))
}

export const listenFailure = (error: unknown, host: string, port: number): Error => {
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

export const untilSignal = (): Promise<string> =>
  new Promise((done) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => done(signal))
  })

export const stopWithin = async (ms: number, http: HttpServer): Promise<void> => {
  const timer = setTimeout(() => http.cut(), ms)
  await http.stop()
  clearTimeout(timer)
}

/** Keys are printed here and nowhere else: plain standard output, outside the log. */
export const bootstrap = async (engine: Engine, url: string, nowMs: number): Promise<void> => {
  const secret = makeApiKey({ kind: 'secret' })
  const open = makeApiKey({ kind: 'public' })
  const organization = await engine.organizations.bootstrap('default', [secret.kept, open.kept], nowMs)
  if (organization === undefined) return
  const greeting = `
Cubby is running. These keys of the organization "default" are shown this once:

  secret key  ${secret.text}  reads and writes: keep it on your server
  public key  ${open.text}   reads only: for browsers

Make a table, put a record into it, and read it:

  export CUBBY_URL=${url} CUBBY_KEY=${secret.text}
  curl -X POST $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY"
  curl -X PUT $CUBBY_URL/v1/app/notes -H "Authorization: Bearer $CUBBY_KEY" -H 'Content-Type: application/json' -d '{"hashKey":"first","data":{"text":"hello"}}'
  curl $CUBBY_URL/v1/app/notes/first -H "Authorization: Bearer $CUBBY_KEY"
`
  for (const line of greeting.split('\n')) printLine(line)
}
