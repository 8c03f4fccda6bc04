import type { Log } from '../core/log.ts'
import type { HttpServer } from '../http/server.ts'

/** Resolves with the first signal that asks the process to stop. A second one ends it at once. */
export const untilSignal = (): Promise<string> =>
  new Promise((done) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => done(signal))
  })

/** For a worker: a signal to the whole process group must not stop it before its owner does. */
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
