import { spyOn } from 'bun:test'

/** What clients under these timers have as `timeoutMs`, so that a timeout can be told from a pause. */
export const timeoutMs = 77_777

/** Pauses between attempts take no time; `pauses` tells how long they would have been. */
export const fakeTimers = (random: number) => {
  const pauses: number[] = []
  const setRealTimeout = globalThis.setTimeout
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    if (ms === timeoutMs) return setRealTimeout(work, ms)
    pauses.push(ms)
    return setRealTimeout(work, 0)
  }) as typeof setTimeout)
  const dice = spyOn(Math, 'random').mockReturnValue(random)
  const restore = () => {
    timers.mockRestore()
    dice.mockRestore()
  }
  return { pauses, restore }
}
