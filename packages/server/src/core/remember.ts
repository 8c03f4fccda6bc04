/** Adds a value to a cache of bounded size. The oldest entry goes, and is read from the store when it is needed again. */
export const remember = <Value>(
  cache: Map<string, Value>,
  cacheKey: string,
  value: Value,
  entriesMax: number,
): Value => {
  if (cache.size >= entriesMax && !cache.has(cacheKey)) cache.delete(cache.keys().next().value!)
  cache.set(cacheKey, value)
  return value
}
