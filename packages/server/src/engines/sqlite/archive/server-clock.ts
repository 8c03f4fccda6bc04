import { readFileSync } from 'node:fs'

/**
 * The server's clock for threads, which cannot be given a function. Tests move it: `file` holds milliseconds to add, as
 * for the serving thread.
 */
export const threadClock = (file: string | undefined): (() => number) => {
  if (file === undefined) return Date.now
  return () => {
    try {
      return Date.now() + (Number(readFileSync(file, 'utf8')) || 0)
    } catch {
      return Date.now()
    }
  }
}
