import { type OnceOptions, onceHeader } from './idempotency.ts'
import type { Send } from './transport.ts'

/** One operation of a batch, ready to send. */
export interface BatchPart {
  /** JSON text. */
  json: string
  /** The operation names a version or a lease: a batch with it is applied at most once. */
  guarded: boolean
  /** It changes nothing the second time. */
  repeatable?: boolean
}

export const batchBody = (parts: BatchPart[]): string => `{"operations":[${parts.map(({ json }) => json).join()}]}`

/** A batch is all or none, so one guarded operation protects the others too. */
export const sendBatch = async <T>(send: Send, path: string, parts: BatchPart[], options: OnceOptions): Promise<T> => {
  const { idempotencyKey } = options
  const isSafe =
    idempotencyKey !== undefined || parts.some(({ guarded }) => guarded) || parts.every(({ repeatable }) => repeatable)
  const effect = isSafe ? 'once' : 'write'
  const headers = onceHeader(idempotencyKey)
  return send({ method: 'POST', path, effect, body: batchBody(parts), headers }, options)
}
