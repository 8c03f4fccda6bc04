import { CubbyError } from '../index.ts'
import type { ChangesOptions } from '../records/following.ts'
import type { Send } from '../transport/transport.ts'
import { Feed } from './feed.ts'

/** What the loop has handled. */
interface Handled {
  cursor: string | null
}

async function* itemsOf<Item>(
  send: Send,
  path: string,
  { cursor, from, signal, ...fields }: ChangesOptions,
  handled: Handled,
  stop: AbortController,
): AsyncGenerator<Item, void> {
  if (cursor != null && from !== undefined) {
    throw new CubbyError('invalid_request', 'from is given together with cursor; give one of them.', { field: 'from' })
  }
  const end = () => stop.abort()
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  try {
    const feed = new Feed<Item>({ send, path, fields, cursor: handled.cursor, from }, stop.signal)
    for await (const step of feed.steps()) {
      if (step.item !== undefined) yield step.item
      // The loop has asked for more, so it has handled this one.
      handled.cursor = step.cursor ?? handled.cursor
      if (stop.signal.aborted) return
    }
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}

/** Reads on from `handled.cursor`. `path` is that of the table. */
export const follow = <Item>(
  send: Send,
  path: string,
  options: ChangesOptions,
  handled: Handled,
): Required<Pick<AsyncIterator<Item, void>, 'next' | 'return'>> => {
  const stop = new AbortController()
  const items = itemsOf<Item>(send, `${path}/changes`, options, handled, stop)
  return {
    next: () => items.next(),
    // A generator alone would end only after the item that it waits for.
    return: () => {
      stop.abort()
      return items.return()
    },
  }
}
