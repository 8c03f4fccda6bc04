import { spyOn } from 'bun:test'

/** The `timeoutMs` of clients with these timers. It differs from every pause. */
export const timeoutMs = 77_777

/** Pauses between attempts take no time. `pauses` has their intended lengths. */
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
