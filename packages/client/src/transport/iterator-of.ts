/** Not every browser can iterate a stream. */
export const iteratorOf = <Item>(
  source: ReadableStream<Item> | AsyncIterable<Item>,
): AsyncIterator<Item, unknown, undefined> => {
  if (!('getReader' in source)) return source[Symbol.asyncIterator]()
  const reader = source.getReader()
  return {
    next: () => reader.read() as Promise<IteratorResult<Item>>,
    return: async () => ({ done: true, value: await reader.cancel() }),
  }
}
