import { CubbyError } from '../transport/errors.ts'
import type { FindResponse, RecordKey, RecordResponse } from '../transport/wire.ts'
import { type Key, noRangeKey, parseKey } from './record-key.ts'

/** The limits of one request: keys, and characters of JSON. The body may have 1 MiB, and some characters take three bytes. */
const keysMax = 100
const charactersMax = 900_000

/** The key as JSON, as the server writes it: equal for keys of the same record. */
const keyText = ({ hashKey, rangeKey }: RecordKey): string =>
  JSON.stringify({ hashKey, rangeKey: rangeKey === noRangeKey ? undefined : rangeKey })

/** The keys of the next request, removed from `waiting`. */
const takeKeys = (waiting: string[]): string[] => {
  let count = 0
  for (let characters = 0; count < Math.min(keysMax, waiting.length); count++) {
    characters += waiting[count]!.length
    // A key that is too large for any request is sent alone, so that the server rejects it with the right error.
    if (count > 0 && characters > charactersMax) break
  }
  return waiting.splice(0, count)
}

/** The records in the order of the keys. Keys for which a response had no room are asked for again. */
export const findMany = async <Data>(
  keys: readonly Key[],
  send: (body: string) => Promise<FindResponse<Data>>,
  concurrency = 4,
): Promise<(RecordResponse<Data> | undefined)[]> => {
  const texts = Array.from(keys, (key, i) => keyText(parseKey(key, `keys[${i}].`)))
  // The server rejects a key that is sent twice, but a caller may have one twice.
  const waiting = [...new Set(texts)]
  const found = new Map<string, RecordResponse<Data>>()
  let isOver = false
  const work = async () => {
    while (waiting.length > 0 && !isOver) {
      const asked = takeKeys(waiting)
      const { items, unread } = await send(`{"keys":[${asked}]}`)
      // Every answer is about at least one key. Without this check, a server that breaks that is asked for ever.
      if (unread.length >= asked.length) throw new CubbyError('internal', 'The server left every key unread.')
      for (const record of items) found.set(keyText(record), record)
      waiting.unshift(...unread.map(keyText))
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(Math.max(1, concurrency), waiting.length) }, work))
  } finally {
    isOver = true
  }
  return texts.map((text) => found.get(text))
}
