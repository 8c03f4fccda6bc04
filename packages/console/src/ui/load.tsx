import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { ErrorBox } from './error-box.tsx'

const quietMs = 200

export interface Loaded<T> {
  /** Of the last load that ended; stays while the next one runs. */
  value: Signal<T | undefined>
  error: Signal<unknown>
  /** True only 200 ms after the load began. */
  isSlow: Signal<boolean>
  reload: () => Promise<void>
}

/** Runs `load` when `inputs` change. An answer that comes after the inputs have changed is dropped. */
export const useLoad = <T,>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> => {
  const value = useSignal<T | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isSlow = useSignal(false)
  const running = useRef<AbortController>(undefined)
  const reload = useCallback(async () => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    const timer = setTimeout(() => {
      isSlow.value = true
    }, quietMs)
    try {
      const found = await load(controller.signal)
      if (controller.signal.aborted) return
      value.value = found
      error.value = undefined
    } catch (thrown) {
      if (!controller.signal.aborted) error.value = thrown
    } finally {
      clearTimeout(timer)
      if (running.current === controller) isSlow.value = false
    }
  }, inputs)
  useEffect(() => {
    value.value = undefined
    error.value = undefined
    reload()
    return () => running.current?.abort()
  }, [reload])
  return { value, error, isSlow, reload }
}

/** Quiet placeholders of the final size. */
export const Placeholder = ({ rows = 5 }: { rows?: number }) => (
  <div class="placeholder" aria-hidden="true">
    {Array.from({ length: rows }, (_, index) => (
      <div key={index} class="placeholder-row" />
    ))}
  </div>
)

/** Nothing for 200 ms, then placeholders: for what is not loaded by `useLoad`. */
export const LatePlaceholder = () => {
  const isSlow = useSignal(false)
  useEffect(() => {
    const timer = setTimeout(() => {
      isSlow.value = true
    }, quietMs)
    return () => clearTimeout(timer)
  }, [])
  return isSlow.value ? <Placeholder /> : null
}

interface ShownProps<T> {
  of: Loaded<T>
  rows?: number
  children: (value: T) => ComponentChildren
}

/** The value, or the error, or after 200 ms placeholders. */
export const Shown = <T,>({ of: { value, error, isSlow, reload }, rows, children }: ShownProps<T>) => (
  <>
    {error.value !== undefined && <ErrorBox error={error.value} retry={reload} />}
    {value.value !== undefined && children(value.value)}
    {value.value === undefined && error.value === undefined && isSlow.value && <Placeholder rows={rows} />}
  </>
)
