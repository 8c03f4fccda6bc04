import { readFileSync } from 'node:fs'

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

type Ending = keyof typeof exitCodes

/**
 * SIGHUP is ignored under nohup, and a listener would end that. Only Linux tells whether it is, so other systems have no
 * listener.
 */
const hangupMayEnd = (): boolean => {
  try {
    const ignored = /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(readFileSync('/proc/self/status', 'utf8'))
    return ignored !== null && (Number.parseInt(ignored[1]!, 16) & 1) === 0
  } catch {
    return false
  }
}

let signals: Ending[] | undefined

/**
 * Calls `remove` when a signal ends the process, until the result is called. To be called before there is anything to remove: a
 * signal right after that would leave it behind.
 */
export const removeOnSignal = (remove: () => void): (() => void) => {
  signals ??= hangupMayEnd() ? ['SIGHUP', 'SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM']
  const onSignal = (signal: NodeJS.Signals): void => {
    remove()
    process.exit(exitCodes[signal as Ending])
  }
  for (const signal of signals) process.once(signal, onSignal)
  return () => {
    for (const signal of signals!) process.off(signal, onSignal)
  }
}
