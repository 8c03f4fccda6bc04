/**
 * The processor time that `work` takes, in milliseconds: the least of several rounds. Unlike the time on a clock, it does not
 * grow while other programs have the processor.
 */
export const cpuMsOf = (work: () => void, rounds = 5): number => {
  const times = Array.from({ length: rounds }, () => {
    const began = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(began)
    return (user + system) / 1_000
  })
  return Math.min(...times)
}
