import type { FindResponse, RecordKey, RecordResponse } from '../transport/wire.ts'
import { type Key, noRangeKey, parseKey } from './record-key.ts'

/** The limits of one request: keys, and characters of JSON. The body may have 1 MiB, and some characters take three bytes. */
const keysMax = 100
const charactersMax = 900_000

/** The key as JSON, as the server writes it: equal for keys of the same record. */
const keyText = ({ hashKey, rangeKey }: RecordKey): string =>
  JSON.stringify({ hashKey, rangeKey: rangeKey === noRangeKey ? undefined : rangeKey })

/** The body of the next request: removes its keys from `waiting`. */
const takeBody = (waiting: string[]): string => {
  let count = 0
  for (let characters = 0; count < Math.min(keysMax, waiting.length); count++) {
    characters += waiting[count]!.length
    // A key that is too large for any request is sent alone, so that the server rejects it with the right error.
    if (count > 0 && characters > charactersMax) break
  }
  return `{"keys":[${waiting.splice(0, count).join()}]}`
}

/** The records in the order of the keys. Keys for which a response had no room are asked for again. */
export const findMany = async <Data>(
  keys: readonly Key[],
  send: (body: string) => Promise<FindResponse<Data>>,
  concurrency = 4,
): Promise<(RecordResponse<Data> | undefined)[]> => {
  // Not `new Array`: its holes are skipped by `map` and `forEach`.
  const found: (RecordResponse<Data> | undefined)[] = keys.map(() => undefined)
  // The server rejects a key that is sent twice, but a caller may have one twice.
  const places = new Map<string, number[]>()
  keys.forEach((key, i) => {
    const text = keyText(parseKey(key, `keys[${i}].`))
    const same = places.get(text)
    if (same) same.push(i)
    else places.set(text, [i])
  })
  const waiting = [...places.keys()]
  let isOver = false
  const work = async () => {
    while (waiting.length > 0 && !isOver) {
      const { items, unread } = await send(takeBody(waiting))
      for (const record of items) {
        for (const i of places.get(keyText(record)) ?? []) found[i] = record
      }
      waiting.unshift(...unread.map(keyText))
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(Math.max(1, concurrency), waiting.length) }, work))
  } finally {
    isOver = true
  }
  return found
}
