import { type Signal, useSignal } from '@preact/signals'
import { ErrorBox } from './error-box.tsx'

// Handlers of events: they set a signal, or start a request whose error is shown.

/** Sets the signal to this value. */
export const set =
  <T,>(signal: Signal<T>, value: T) =>
  (): void => {
    signal.value = value
  }

/** Sets the signal to what the handler gets. */
export const into =
  <T,>(signal: Signal<T>) =>
  (value: T): void => {
    signal.value = value
  }

interface Action {
  isRunning: boolean
  /** The error that the last run threw. */
  error: unknown
  run: (work: () => unknown) => Promise<void>
}

export const useAction = (): Action => {
  const isRunning = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const run = async (work: () => unknown): Promise<void> => {
    isRunning.value = true
    error.value = undefined
    try {
      await work()
    } catch (thrown) {
      error.value = thrown
    }
    isRunning.value = false
  }
  // Read when they are used: a second click may come before the page is drawn again.
  return {
    get isRunning() {
      return isRunning.value
    },
    get error() {
      return error.value
    },
    run,
  }
}

/** The error, if there is one. */
export const Failure = ({ of: { error } }: { of: Action }) => error !== undefined && <ErrorBox error={error} />
