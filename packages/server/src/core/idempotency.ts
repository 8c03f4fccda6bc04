import { CubbyError } from './errors.ts'
import { idempotencyKeyCharactersMax } from './limits.ts'

export const idempotencyKeyHeader = 'Idempotency-Key'

/** The value of the header, bare or in quotes. A header that was sent twice has a comma. */
export const parseIdempotencyKey = (value: string): string => {
  const key = /^"(.*)"$/.exec(value)?.[1] ?? value
  if (/^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/.test(key) && key.length <= idempotencyKeyCharactersMax) return key
  throw new CubbyError(
    'invalid_request',
    `${idempotencyKeyHeader} is malformed; it takes 1 to ${idempotencyKeyCharactersMax} visible ASCII characters except ", \\ and comma.`,
    { field: idempotencyKeyHeader, hint: 'Send it once, with one value: a UUID fits.' },
  )
}

export const idempotencyKeyReused = (): CubbyError =>
  new CubbyError(
    'idempotency_key_reused',
    'Another request was applied under this idempotency key; nothing was changed.',
    {
      field: idempotencyKeyHeader,
      hint: 'Send a new key with a new request. To repeat a request, send its method, path, conditions and body unchanged.',
    },
  )

/** Neither the data of a record nor the payload of a run is kept: the repeated request has what its answer needs. */
const kept = (name: string, value: unknown): unknown => (name === 'data' || name === 'payload' ? undefined : value)

/** The text of the result of a write that was applied, as it is kept; undefined if it was refused. */
export const resultToKeep = (result: unknown): string | undefined => {
  const { applied, refused, outcome } = result as { applied?: boolean; refused?: string; outcome?: string }
  if (applied === false || refused !== undefined || (outcome !== undefined && outcome !== 'rolled')) return undefined
  const text = JSON.stringify(result)
  // Most results have neither, and a function that is called for each member is slow.
  return /"(data|payload)":/.test(text) ? JSON.stringify(result, kept) : text
}
