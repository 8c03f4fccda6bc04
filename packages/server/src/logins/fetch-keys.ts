import { CubbyError } from '../core/errors.ts'
import { type IssuerKey, parseIssuerKey } from '../core/issuers/issuer-key.ts'
import { isCheapToBuild } from '../core/text/json-scan.ts'
import type { Allow } from '../push/allow.ts'
import { connectionMessage, reach } from '../push/reach.ts'
import type { Resolve } from '../push/resolve.ts'
import { resultOf } from '../push/result.ts'
import { TargetRefused } from '../push/target.ts'

export interface FetchOptions {
  allow: Allow
  /** Tests set another resolver, certificates of authorities and a shorter time. */
  resolve?: Resolve
  ca?: string
  msMax?: number
}

/** The keys that were fetched, and the bytes that they had. */
export interface FetchedKeys {
  keys: readonly IssuerKey[]
  bytes: number
}

/** There are no keys. The message is the end of a sentence, for the caller: it repeats nothing that the target has sent. */
export class NoKeys extends Error {}

const fetchMsMax = 5_000

/** Fetches a key set. Rejects with `NoKeys`, whatever the target does, after `msMax` at the latest. */
export const fetchKeys = async (
  url: string,
  { allow, resolve, ca, msMax = fetchMsMax }: FetchOptions,
): Promise<FetchedKeys> => {
  const signal = AbortSignal.timeout(msMax)
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'cubby' }
  const response = await reach(url, { method: 'GET', headers }, { allow, signal, resolve, ca }).catch((error) => {
    if (error instanceof TargetRefused) throw new NoKeys(`The keysUrl ${error.message}`)
    if (signal.aborted) throw new NoKeys(`It did not answer within ${msMax / 1000} s.`)
    throw new NoKeys(connectionMessage(error))
  })
  const { status, body } = response
  if (status !== 200) throw new NoKeys(`It answered ${status} instead of 200.`)
  if (body === undefined) throw new NoKeys('Its answer is too long, or broke off.')
  return { keys: readKeys(body), bytes: body.length }
}

/** The keys that can check login tokens. A login service may have others for other uses. */
const readKeys = (body: Uint8Array): IssuerKey[] => {
  const text = resultOf(body)
  const keys: unknown = text !== null && isCheapToBuild(text) ? JSON.parse(text).keys : undefined
  if (!Array.isArray(keys)) throw new NoKeys('Its answer is no JSON Web Key Set.')
  return keys.flatMap((key) => {
    try {
      return [parseIssuerKey(key, 'key')]
    } catch (error) {
      if (error instanceof CubbyError) return []
      throw error
    }
  })
}
