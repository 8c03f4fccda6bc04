// The server with a clock for durations that jumps ahead by so many milliseconds on each SIGUSR2, for limits of half a minute:
// serve-moved.ts serve …

export const jumpMs = 15_000

if (import.meta.main) {
  const now = performance.now.bind(performance)
  let aheadMs = 0
  performance.now = () => now() + aheadMs
  process.on('SIGUSR2', () => {
    aheadMs += jumpMs
  })
  await import('../../src/main.ts')
}
