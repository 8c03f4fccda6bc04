import { createHmac, randomBytes } from 'node:crypto'
import { CursorSeal, TextSeal } from './cursor-seal.ts'
import { earlierSecretMs, earlierSecretsMax } from './limits.ts'

// A store has a secret that seals its cursors and signs the URLs of its files. Operators replace it, because it is in every
// backup. What the earlier ones sealed and signed is accepted for a while.

/** A copy or a backup of the store has the same secrets. */
export interface StoreSecret {
  /** `secretBytes` random bytes. */
  secret: Uint8Array
  /** True if plain cursors of version 0.1 are accepted as long as this secret is. */
  acceptsPlain: boolean
  /** The time from which it seals and signs. It is accepted before that: another process may have begun already. */
  beginsAtMs: number
}

export const secretBytes = 32

/** Longer than any process needs to learn of a new secret. */
export const secretLeadMs = 2_000

export const newSecret = (beginsAtMs: number): StoreSecret => ({
  secret: randomBytes(secretBytes),
  acceptsPlain: false,
  beginsAtMs,
})

/** Encodes the secrets as JSON text, for columns and for messages between threads. */
export const encodeSecrets = (secrets: readonly StoreSecret[]): string =>
  JSON.stringify(secrets.map((one) => ({ ...one, secret: Buffer.from(one.secret).toString('hex') })))

export const decodeSecrets = (text: string): StoreSecret[] =>
  (JSON.parse(text) as (Omit<StoreSecret, 'secret'> & { secret: string })[]).map((one) => ({
    ...one,
    secret: Buffer.from(one.secret, 'hex'),
  }))

/** Returns what is wrong with the secrets of a store, a line each. */
export const findSecretFaults = (secrets: readonly StoreSecret[]): string[] => {
  if (secrets.length === 0) return ['the store has no secret for cursors and signed URLs']
  const wrong = secrets.filter(({ secret }) => secret.length !== secretBytes)
  return wrong.map(({ secret }) => `a secret of the store has ${secret.length} bytes, not ${secretBytes}`)
}

/** Returns the time until which the secret at `i` is accepted, in a list with the newest first. The newest has no end. */
export const acceptedUntilMs = (secrets: readonly StoreSecret[], i: number): number =>
  i === 0 ? Number.POSITIVE_INFINITY : secrets[i - 1]!.beginsAtMs + earlierSecretMs

/** The secrets after a rotation, newest first. `endsEarlier`: no other than the new one is accepted any more. */
export const rotateSecrets = (
  secrets: readonly StoreSecret[],
  next: StoreSecret,
  endsEarlier: boolean,
  nowMs: number,
): StoreSecret[] => {
  if (endsEarlier) return [next]
  const all = [next, ...secrets]
  return all.filter((_, i) => acceptedUntilMs(all, i) > nowMs).slice(0, 1 + earlierSecretsMax)
}

/** The keys that seal cursors and sign URLs at some time. */
export interface Keyring {
  seal: CursorSeal
  /** The first one signs, all are accepted. */
  urlKeys: readonly Uint8Array[]
  /** Seals user tokens. */
  tokenSeal: CursorSeal
  /** The same for the same secrets: what was opened with one keyring may be used with another of the same id. */
  id: string
}

/** The secrets of a store, ready for use. */
export class StoreSecrets {
  /** Newest first. */
  readonly secrets: readonly StoreSecret[]
  readonly #derived: readonly { seal: TextSeal; urlKey: Uint8Array; tokenSeal: TextSeal; id: string }[]
  /** The last keyring: only the beginning or the end of a secret makes another one. */
  #keyring: Keyring | undefined
  #current = -1
  #end = -1

  constructor(secrets: readonly StoreSecret[]) {
    this.secrets = secrets
    const [fault] = findSecretFaults(secrets)
    if (fault !== undefined) throw new Error(fault)
    this.#derived = secrets.map(({ secret }) => ({
      seal: new TextSeal(secret, 'cursor'),
      urlKey: createHmac('sha256', secret).update('file urls').digest(),
      tokenSeal: new TextSeal(secret, 'user token'),
      id: createHmac('sha256', secret).update('id').digest('hex'),
    }))
  }

  at(nowMs: number): Keyring {
    const { secrets } = this
    let current = secrets.findIndex(({ beginsAtMs }) => beginsAtMs <= nowMs)
    if (current < 0) current = secrets.length - 1
    let end = current + 1
    while (end < secrets.length && acceptedUntilMs(secrets, end) > nowMs) end++
    if (this.#keyring === undefined || current !== this.#current || end !== this.#end) {
      this.#keyring = this.#keyringOf(current, end)
      this.#current = current
      this.#end = end
    }
    return this.#keyring
  }

  /** Those from `end` on are no longer accepted. */
  #keyringOf(current: number, end: number): Keyring {
    const accepted = this.#derived.slice(0, end)
    const [own] = accepted.splice(current, 1)
    accepted.unshift(own!)
    const acceptsPlain = this.secrets.slice(0, end).some((secret) => secret.acceptsPlain)
    return {
      seal: new CursorSeal(
        accepted.map(({ seal }) => seal),
        acceptsPlain,
      ),
      urlKeys: accepted.map(({ urlKey }) => urlKey),
      tokenSeal: new CursorSeal(
        accepted.map(({ tokenSeal }) => tokenSeal),
        false,
      ),
      id: accepted.map(({ id }) => id).join(' '),
    }
  }
}
