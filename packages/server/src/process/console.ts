import { isConsoleBuilt, notBuiltHint, servedConsole } from '../console/served-console.ts'
import type { HttpOptions } from '../http/server.ts'
import type { ServeOptions } from './serve-options.ts'

/** Undefined with --no-console. */
export const consoleOptions = ({ hasConsole }: ServeOptions): HttpOptions['console'] =>
  hasConsole ? servedConsole() : undefined

/** Whether people can use it. Without its files the server serves everything else. */
export const checkConsole = async ({ hasConsole, log }: ServeOptions): Promise<boolean> => {
  if (!hasConsole) return false
  const isBuilt = await isConsoleBuilt()
  if (!isBuilt) log('warn', 'the console is not built', { hint: notBuiltHint })
  return isBuilt
}
