import type { Log } from '../core/log.ts'
import type { HttpServer } from '../http/server.ts'

/** Resolves with the first signal that asks the process to stop. A second one ends it at once. */
export const untilSignal = (): Promise<string> =>
  new Promise((done) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => done(signal))
    if (isBelowNpx()) whenParentEnds(() => done('npx ended'))
  })

const parentEveryMs = 500

/**
 * `npx cubbydb serve` is npx, a shell and this process. A signal to npx reaches the shell only: both end, and the server would
 * keep running and hold the port. npm sets these variables; the second one is the command, so that a server that another
 * tool of npx starts in the background is left alone.
 */
const isBelowNpx = (): boolean => {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = process.env
  return event === 'npx' && /^'?cubby(db)?'?( |$)/.test(script)
}

/** The system gives a process whose parent has ended another parent, and tells nobody. */
const whenParentEnds = (ended: () => void): void => {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    ended()
  }, parentEveryMs)
  timer.unref()
}

/** Ignores signals in a worker: a signal to the whole process group must not stop it before its owner does. */
export const ignoreSignals = (): void => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {})
}

/** Logs uncaught errors; the process continues. */
export const stayUp = (log: Log): void => {
  process.on('uncaughtException', (error) => log('error', 'uncaught', { cause: error.stack ?? String(error) }))
  process.on('unhandledRejection', (reason) => log('error', 'unhandled', { cause: String(reason) }))
}

/** Waits for the requests in flight, and cuts off those that take longer. */
export const stopWithin = async (ms: number, http: HttpServer): Promise<void> => {
  const timer = setTimeout(() => http.cut(), ms)
  await http.stop()
  clearTimeout(timer)
}
