import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'bun'
import type { Log } from '../core/log.ts'

/** Files the process may have open; undefined where the system does not say (it then bounds connections alone). */
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

/** undefined when not even this can be opened any more. */
const openFiles = (): number | undefined => {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

const share = 0.8

/**
 * Keeps connections below what the system allows: past that, accepting would spin and nobody new could come in.
 * Idle ones are closed first; one that has not sent its request within ten seconds Bun closes by itself.
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
