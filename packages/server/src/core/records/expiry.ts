/** Live until, and not including, the second `ttl`. Reads, conditions, queries and the sweep all use this rule. */
export const isExpired = (ttlSeconds: number | null, nowMs: number): boolean =>
  ttlSeconds !== null && ttlSeconds * 1000 <= nowMs

/** The same rule as a bound for SQL: a row is expired when `ttl <= nowSeconds(nowMs)`. */
export const nowSeconds = (nowMs: number): number => Math.floor(nowMs / 1000)
