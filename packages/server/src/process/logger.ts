import { maskApiKeys } from '../core/api-keys/mask-api-keys.ts'
import type { Log } from '../core/log.ts'
import { printable } from '../core/text/printable.ts'

/** The lines of a stack trace are indented, so that none looks like an entry of the log. */
const printableLines = (text: string): string => text.split('\n').map(printable).join('\n    ')

/** Writes to standard error: one JSON object per line, or readable lines on a terminal. */
export const createLogger = (onTerminal = process.stderr.isTTY === true): Log => {
  // A line that cannot be written, for example to a full disk, is lost. Uncaught, its error would be logged, and so on
  // without end.
  process.stderr.on('error', () => {})
  return (level, message, fields = {}) => {
    const time = new Date().toISOString()
    if (!onTerminal) {
      process.stderr.write(`${printable(maskApiKeys(JSON.stringify({ time, level, message, ...fields })))}\n`)
      return
    }
    const shown = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    const line = `${time.slice(11, 19)} ${level.padEnd(5)} ${[message, ...shown].join('  ')}`
    process.stderr.write(`${printableLines(maskApiKeys(line))}\n`)
  }
}
