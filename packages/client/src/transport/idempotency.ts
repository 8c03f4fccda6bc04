import { matches, refusal } from './errors.ts'
import type { RequestOptions } from './transport.ts'

/** Options of a write that can be repeated. */
export interface OnceOptions extends RequestOptions {
  /**
   * 1 to 255 visible ASCII characters except `"`, `\` and `,`, such as a UUID. For at least 24 hours, the service applies the same
   * request with the same key once, and answers it as the first time: also after a lost answer, or from another process. Another
   * request with the key is rejected with `idempotency_key_reused`.
   */
  idempotencyKey?: string
}

const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0')

/**
 * 32 characters that nobody else makes up. They begin with the time, because the service stores such keys faster. `randomUUID` is
 * missing in pages that were loaded over plain http.
 */
export const makeUpKey = (): string =>
  hex(Date.now(), 12) + Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => hex(byte, 2)).join('')

/** A request with this header may be repeated. */
export const onceHeader = (key: string | undefined): Record<string, string> => {
  if (key === undefined) return {}
  // A line break must not reach `fetch`: some runtimes have the whole header in their error.
  if (matches(/^[!#-+\--[\]-~]{1,255}$/, key)) return { 'idempotency-key': key }
  throw refusal(
    'invalid_request',
    'idempotencyKey',
    'takes a string of 1 to 255 visible ASCII characters except ", \\ and comma.',
  )
}
