import { RunSignals } from '../src/core/tasks/run-signals.ts'
import { RunWaits } from '../src/operations/runs/run-waits.ts'
import type { TaskServices } from '../src/operations/tasks/task-services.ts'
import type { LoginServices } from '../src/operations/tokens/login-services.ts'
import type { Engine } from '../src/store/engine.ts'

/** Services for tests that call operations without a server. Every target may be pushed to. */
export const taskServices = (engine: Engine): TaskServices => {
  const signals = new RunSignals()
  let waits: RunWaits | undefined
  return {
    handsOut: true,
    signals,
    get waits() {
      waits ??= new RunWaits(engine.runs, signals, () => Date.now())
      return waits
    },
    checkTarget: async () => {},
  }
}

/** For tests that exchange no tokens: keys may be anywhere, and every signature is right. */
export const loginServices: LoginServices = { checkKeysUrl: async () => {}, verify: async () => {} }
