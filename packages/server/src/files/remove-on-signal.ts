const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/**
 * Calls `remove` when a signal ends the process, until the result is called. To be called before there is anything to remove: a
 * signal right after that would leave it behind.
 */
export const removeOnSignal = (remove: () => void): (() => void) => {
  const signals = Object.keys(exitCodes) as (keyof typeof exitCodes)[]
  const onSignal = (signal: NodeJS.Signals): void => {
    remove()
    process.exit(exitCodes[signal as keyof typeof exitCodes])
  }
  for (const signal of signals) process.once(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}
