import { openEngine } from '../engines/open-engine.ts'
import { openClock } from '../process/clock.ts'
import type { Engine } from '../store/engine.ts'
import { type Arguments, storeLocation } from './command.ts'

/** Opens the store beside a server that may be running, and closes it whatever happens. */
export const withStore = async <T>(
  args: Arguments,
  options: { mustExist: boolean },
  use: (engine: Engine) => Promise<T>,
): Promise<T> => {
  const engine = await openEngine(storeLocation(args), {
    role: 'guest',
    leaseMs: openClock(process.env).leaseMs,
    ...options,
  })
  try {
    return await use(engine)
  } finally {
    await engine.close()
  }
}
