/** Epoch seconds. */
export const ttlSeconds = <T>(ttl: T | Date): T | number => (ttl instanceof Date ? Math.ceil(+ttl / 1000) : ttl)
