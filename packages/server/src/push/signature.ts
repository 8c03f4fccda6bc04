import { createHmac } from 'node:crypto'

const prefix = 'whsec_'

/** Standard Webhooks 1.0: one `v1,…` for each secret, with a space between them. */
export const signatureOf = (
  secrets: readonly string[],
  { id, timestamp, body }: { id: string; timestamp: string; body: Uint8Array },
): string =>
  secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(prefix.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
    })
    .join(' ')
