import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'bun'
import type { Log } from '../core/log.ts'

/**
 * Returns how many files the process may open; undefined if the system does not report it: then connections are not watched.
 */
const openFilesMax = (): number | undefined => {
  try {
    const line = readFileSync('/proc/self/limits', 'utf8')
      .split('\n')
      .find((limit) => limit.startsWith('Max open files'))
    const soft = Number(line?.split(/\s{2,}/)[1])
    return Number.isFinite(soft) ? soft : undefined
  } catch {
    return undefined
  }
}

/** undefined if the process cannot open even this directory any more. */
const openFiles = (): number | undefined => {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

const share = 0.8

/**
 * Keeps the number of connections below the system's limit: above it, accepting would spin and new clients could not
 * connect. It closes idle connections. Bun itself closes a connection that has not sent its request within ten seconds.
 */
export const watchConnections = (server: Server<undefined>, log: Log): Timer => {
  const most = openFilesMax()
  const timer = setInterval(() => {
    if (most === undefined) return
    const open = openFiles() ?? most
    if (open < most * share) return
    log('warn', 'too many connections; closing the idle ones', { open, most })
    server.closeIdleConnections()
  }, 1_000)
  timer.unref()
  return timer
}
