/**
 * The trace id of a `traceparent` header, as W3C Trace Context defines it; undefined if the header is malformed. A version
 * that we do not know may have more after the flags.
 */
export const traceIdOf = (traceparent: string | null): string | undefined => {
  const parts = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent?.trim() ?? '')
  if (parts === null) return undefined
  const [, version, traceId, parentId, more] = parts
  const isZero = (text: string): boolean => /^0+$/.test(text)
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  return isZero(traceId!) || isZero(parentId!) ? undefined : traceId
}
