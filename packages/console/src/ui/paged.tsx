import { type Signal, useSignal } from '@preact/signals'
import type { Page } from '../api/types.ts'
import { ErrorBox } from './error-box.tsx'
import { type Loaded, useLoad } from './load.tsx'

interface Paged<T> {
  /** The first page; reloading it drops the others. */
  first: Loaded<Page<T>>
  items: () => T[]
  /** Null: there is no more. */
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
