// Timers that only the test ends, for code that waits with `setTimeout` in the test's own process. A busy machine may be late for
// anything, so that a real timer may end before what it waits for.

export interface HeldTimers {
  /** The number of timers that have begun so far. */
  readonly begun: number
  /** The number of timers that run now: begun, and neither cleared nor ended. */
  readonly running: number
  /** Ends all that run now. */
  end(): void
  /** Lets timers run by themselves again. */
  release(): void
}

/** Holds all timers of just these milliseconds; others run as ever. */
export const holdTimers = (...heldMs: number[]): HeldTimers => {
  const own = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
  const running = new Map<object, () => void>()
  let begun = 0
  const begin = (work: () => void, ms?: number, ...args: never[]) => {
    if (ms === undefined || !heldMs.includes(ms)) return own.setTimeout(work, ms, ...args)
    begun++
    const timer = { unref: () => timer, ref: () => timer, hasRef: () => true }
    running.set(timer, work)
    return timer
  }
  const clear = (timer: never): void => {
    if (!running.delete(timer)) own.clearTimeout(timer)
  }
  Object.assign(globalThis, { setTimeout: begin, clearTimeout: clear })
  return {
    get begun() {
      return begun
    },
    get running() {
      return running.size
    },
    end() {
      const works = [...running.values()]
      running.clear()
      for (const work of works) work()
    },
    release() {
      Object.assign(globalThis, own)
    },
  }
}

export interface HeldClock {
  /** Moves `performance.now` ahead, and then runs all that looks at it in intervals. */
  move(ms: number): void
  release(): void
}

/** Stops `performance.now` and all intervals that begin from now on. */
export const holdClock = (): HeldClock => {
  const own = { setInterval: globalThis.setInterval, clearInterval: globalThis.clearInterval }
  const ownNow = performance.now
  const looks = new Map<object, () => void>()
  let nowMs = ownNow.call(performance)
  performance.now = () => nowMs
  Object.assign(globalThis, {
    setInterval(look: () => void) {
      const timer = { unref: () => timer, ref: () => timer, hasRef: () => true }
      looks.set(timer, look)
      return timer
    },
    clearInterval(timer: never) {
      if (!looks.delete(timer)) own.clearInterval(timer)
    },
  })
  return {
    move(ms) {
      nowMs += ms
      for (const look of looks.values()) look()
    },
    release() {
      performance.now = ownNow
      Object.assign(globalThis, own)
    },
  }
}
