import { expect } from 'bun:test'
import type { Json } from '../harness.ts'

const varying = new Set(
  'updatedAt createdAt deletedAt recoverableUntil revokedAt nextRunAt runAt finishedAt lease leaseUntil id key masked secret secretKey publicKey cursor requestId url rolledFrom rolledTo since token'.split(
    ' ',
  ),
)

/**
 * Values that no request decides: the name of the organization, the version and address of the server, and whether the last
 * use of a key has been written to the store yet.
 */
export const dependsOnServer = (shown: Json, came: Json, name: string): boolean => {
  if (name === 'organization' || name === 'version') return typeof came === 'string' && came !== ''
  // The description of the skill has the address in it, the digest is of the text with that address.
  if (name === 'digest') return /^sha256:[0-9a-f]{64}$/.test(String(came))
  if (name === 'description' && shown?.endsWith?.(' …')) return String(came).startsWith(shown.slice(0, -2))
  if (name === 'lastUsedAt') return typeof shown === 'number' && (came === null || typeof came === 'number')
  const pathOf = (url: string) => /^http:\/\/127\.0\.0\.1:\d+(\/.*)$/.exec(url)?.[1]
  return typeof shown === 'string' && pathOf(shown) !== undefined && pathOf(shown) === pathOf(String(came))
}

/** Path and query string of a URL. */
const targetIn = (url: string): string => url.replace(/^https?:\/\/[^/]*/, '')

/** Times in the text of an error. */
const withoutTimes = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<a time>')

/**
 * Examples and real responses differ in times, ids, keys and cursors. This class maps each shown value to one real value, and
 * uses the same mapping in later requests.
 */
export class Stage {
  readonly #real = new Map<string, string>()

  /** A shown text with the real values in it. */
  translate(shown: string): string {
    const byLength = [...this.#real].sort(([a], [b]) => b.length - a.length)
    return byLength.reduce((text, [from, to]) => text.replaceAll(from, to), shown)
  }

  translateBody(shown: Json): string | undefined {
    return shown === undefined ? undefined : this.translate(JSON.stringify(shown))
  }

  /** Returns what a step of `x-given` sends beside its path. */
  sent({ body, bytes, headers = {} }: Json): { body: string | undefined; headers: [string, string][] } {
    return { body: bytes ?? this.translateBody(body), headers: Object.entries(headers) }
  }

  #expected(shown: Json, came: Json, name = ''): Json {
    if (varying.has(name) && shown !== null && typeof shown === typeof came) {
      if (!this.#real.has(String(shown))) {
        this.#real.set(String(shown), String(came))
        // A later request may use the URL of a file; its target has no address.
        if (name === 'url' && typeof shown === 'string') this.#real.set(targetIn(shown), targetIn(came))
      }
      const real = this.#real.get(String(shown))!
      return typeof shown === 'number' ? Number(real) : real
    }
    if (dependsOnServer(shown, came, name)) return came
    if (name === 'message' || name === 'hint') return withoutTimes(this.translate(shown))
    if (Array.isArray(shown)) return shown.map((value, i) => this.#expected(value, came?.[i]))
    if (typeof shown !== 'object' || shown === null) return shown
    // When a signed URL or a user token expires depends on when it was made; when a key expires, its request says.
    const isMade = 'url' in shown || 'token' in shown
    const nameOf = (member: string): string => (member === 'expiresAt' && isMade ? 'url' : member)
    return Object.fromEntries(
      Object.entries(shown).map(([member, value]) => [member, this.#expected(value, came?.[member], nameOf(member))]),
    )
  }

  /** Compared as text, so the members must be in the order of the example. */
  expectSame(shown: Json, came: Json, at: string): void {
    const expected = `${at}\n${JSON.stringify(this.#expected(shown, came), null, 2)}`
    expect(withoutTimes(`${at}\n${JSON.stringify(came, null, 2)}`)).toBe(withoutTimes(expected))
  }
}
