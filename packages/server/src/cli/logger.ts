import type { Log } from '../core/log.ts'

/** Whatever a caller puts where, a key never reaches the log, nor most of one: the checksum would give the rest. */
const mask = (line: string): string => line.replace(/svc_(live|pub)_[0-9A-Za-z]{8,}/g, 'svc_$1_****')

/** To standard error: one JSON object a line, or a readable line on a terminal. */
export const createLogger = (onTerminal = process.stderr.isTTY === true): Log => {
  return (level, message, fields = {}) => {
    const time = new Date().toISOString()
    if (!onTerminal) {
      process.stderr.write(mask(`${JSON.stringify({ time, level, message, ...fields })}\n`))
      return
    }
    const shown = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    process.stderr.write(mask(`${time.slice(11, 19)} ${level.padEnd(5)} ${[message, ...shown].join('  ')}\n`))
  }
}
