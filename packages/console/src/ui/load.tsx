import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import type { Page } from '../api/types.ts'
import { ErrorBox } from './error-box.tsx'

const quietMs = 200

export interface Loaded<T> {
  /** The value of the last load that ended. It stays while the next one runs. */
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

/** Shows nothing for 200 ms, then placeholders. It is for content that `useLoad` does not load. */
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

interface Paged<T> {
  /** The first page; reloading it drops the others. */
  first: Loaded<Page<T>>
  items: () => T[]
  /** The cursor is null if there is no more. */
  cursor: Signal<string | null>
  more: () => Promise<void>
  moreError: Signal<unknown>
}

/** A list page by page. `readPage` reads what the reader chose from signals; after a change call `first.reload`. */
export const usePaged = <T,>(readPage: (cursor: string | null, signal?: AbortSignal) => Promise<Page<T>>): Paged<T> => {
  const rest = useSignal<T[]>([])
  const cursor = useSignal<string | null>(null)
  const moreError = useSignal<unknown>(undefined)
  const first = useLoad(async (signal) => {
    const page = await readPage(null, signal)
    signal.throwIfAborted()
    rest.value = []
    cursor.value = page.cursor
    moreError.value = undefined
    return page
  }, [])
  const more = async () => {
    const from = first.value.value
    moreError.value = undefined
    try {
      const page = await readPage(cursor.value)
      if (first.value.value !== from) return
      rest.value = [...rest.value, ...page.items]
      cursor.value = page.cursor
    } catch (thrown) {
      moreError.value = thrown
    }
  }
  return { first, items: () => [...(first.value.value?.items ?? []), ...rest.value], cursor, more, moreError }
}

export const More = ({
  of: { cursor, more, moreError },
}: {
  of: Pick<Paged<unknown>, 'cursor' | 'more' | 'moreError'>
}) => {
  const isRunning = useSignal(false)
  if (cursor.value === null) return null
  return (
    <div class="more">
      {moreError.value !== undefined && <ErrorBox error={moreError.value} />}
      <button
        type="button"
        disabled={isRunning.value}
        onClick={async () => {
          isRunning.value = true
          await more()
          isRunning.value = false
        }}
      >
        More
      </button>
    </div>
  )
}
