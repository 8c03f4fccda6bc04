import { CubbyError } from '../core/errors.ts'
import type { Allow } from './allow.ts'
import { atMostAtOnce, type Resolve, resolveName } from './resolve.ts'
import { checkedAddresses, parseTarget, TargetRefused } from './target.ts'

/** A declaration does not wait longer for a name server. */
const resolveMsMax = 3_000

/** Of all declarations of the process, those included that no longer wait. Names above that count as unknown. */
const lookupsMax = 256
const resolveSome = atMostAtOnce(resolveName, lookupsMax)

/**
 * For a declaration: throws `push_target_refused` with the field `url` if the target must not be pushed to. A name that does
 * not resolve, or not in time, is accepted: each attempt checks again.
 */
export const checkTarget = async (
  url: string,
  allow: Allow,
  resolve: Resolve = resolveSome,
  msMax = resolveMsMax,
): Promise<void> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<readonly string[]>((done) => {
    timer = setTimeout(done, msMax, [])
  })
  try {
    const unlessUnknown: Resolve = (name) => Promise.race([resolve(name), late]).catch(() => [])
    await checkedAddresses(parseTarget(url, allow), allow, unlessUnknown)
  } catch (error) {
    if (!(error instanceof TargetRefused)) throw error
    throw new CubbyError('push_target_refused', `url ${error.message}`, { field: 'url', hint: error.hint })
  } finally {
    clearTimeout(timer)
  }
}
