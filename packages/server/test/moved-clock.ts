/** A clock that stands still until a test moves it. */
export interface MovedClock {
  now(): number
  sleep(ms: number): Promise<void>
  /** Moves on from one timer to the next until it is true. */
  until(what: string, isTrue: () => boolean): Promise<void>
  /** Moves on by this time. What is due meanwhile happens in its order. */
  pass(ms: number): Promise<void>
}

interface Waiting {
  atMs: number
  work(): void
  unref(): void
}

/** The work after an answer or a timer takes few turns of the event loop. Each sleep gives it one or more. */
const settleTurns = 10
const stepsMax = 200

/**
 * Runs `body` while `setTimeout` and `performance.now` go by a clock of its own: so a test takes no time, and a busy machine
 * cannot make anything late. `Bun.sleep` stays real.
 */
export const withClock = (body: (clock: MovedClock) => Promise<void>) => async (): Promise<void> => {
  const real = { setTimeout, clearTimeout, now: performance.now }
  const timers = new Set<Waiting>()
  let nowMs = 1_000
  const set = (work: () => void, ms = 0): Waiting => {
    const timer = { atMs: nowMs + Math.max(0, ms), work, unref() {} }
    timers.add(timer)
    return timer
  }
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < settleTurns; turn++) await Bun.sleep(1)
  }
  const next = (): Waiting | undefined => [...timers].sort((a, b) => a.atMs - b.atMs)[0]
  /** Runs all timers that are set for the same instant, in their order. */
  const fire = ({ atMs }: Waiting): void => {
    nowMs = Math.max(nowMs, atMs)
    for (const timer of [...timers].filter((one) => one.atMs === atMs)) if (timers.delete(timer)) timer.work()
  }
  const clock: MovedClock = {
    now: () => nowMs,
    sleep: (ms) => new Promise((resolve) => void set(resolve, ms)),
    async until(what, isTrue) {
      for (let steps = 0; ; steps++) {
        await settle()
        if (isTrue()) return
        const timer = next()
        if (timer === undefined || steps === stepsMax) throw new Error(`it did not come to pass: ${what}`)
        fire(timer)
      }
    },
    async pass(ms) {
      const endMs = nowMs + ms
      await settle()
      for (let timer = next(); timer !== undefined && timer.atMs <= endMs; timer = next()) {
        fire(timer)
        await settle()
      }
      nowMs = endMs
    },
  }
  Object.assign(globalThis, { setTimeout: set, clearTimeout: (timer: Waiting) => void timers.delete(timer) })
  performance.now = () => nowMs
  try {
    await body(clock)
  } finally {
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout })
    performance.now = real.now
  }
}
