import { isIP } from 'node:net'
import { CubbyError } from '../core/errors.ts'
import { isLoopbackAddress } from '../core/loopback.ts'
import { type Standing, standingOf } from './address.ts'
import type { Allow } from './allow.ts'
import { atMostAtOnce, type Resolve, resolveName } from './resolve.ts'

/** The target must not be pushed to. The texts are for the caller, so they name no address to which a name has resolved. */
export class TargetRefused extends Error {
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/** A URL whose form is allowed. Its addresses are still to be checked. */
export interface Target {
  url: URL
  /** A name, or an address without brackets. */
  host: string
  isLiteral: boolean
}

const httpsHint = 'Give an https URL of a server that the internet can reach.'

/**
 * The URL parser turns 0x7f.1, 2130706433 and １２７.1 into 127.0.0.1. So the host is checked and used as the parser returns
 * it.
 */
export const parseTarget = (text: string, allow: Allow): Target => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) throw new TargetRefused('is not an absolute URL.', httpsHint)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TargetRefused('has another scheme than https.', httpsHint)
  }
  if (url.username !== '' || url.password !== '') {
    throw new TargetRefused('has a user or a password.', 'Declare them as authorization, such as "Basic …".')
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.protocol === 'http:' && allow.length === 0) throw plainRefused(host)
  return { url, host, isLiteral: isIP(host) !== 0 }
}

const networkHint = (host: string): string =>
  isLoopbackAddress(host)
    ? 'To push to this machine, start the server with --push-allow 127.0.0.1,::1. The tasks of all organizations can then reach every port of this machine.'
    : 'For a server in a network of your own, the operator names that network with --push-allow.'

const plainRefused = (host: string): TargetRefused =>
  new TargetRefused(
    'has the scheme http instead of https.',
    isLoopbackAddress(host)
      ? networkHint(host)
      : 'http is only for networks that the operator names with --push-allow.',
  )

/**
 * The addresses of the target, each of them checked. Throws TargetRefused if one is not allowed: a name with a public and a
 * private address must not get the choice. Rejects if `resolve` does; empty if the name has no address.
 */
export const checkedAddresses = async (target: Target, allow: Allow, resolve: Resolve): Promise<readonly string[]> => {
  const { url, host, isLiteral } = target
  const addresses = isLiteral ? [host] : await resolve(host)
  const standings = addresses.map((address): Standing => standingOf(address, allow))
  if (standings.includes('refused')) {
    throw new TargetRefused(
      isLiteral
        ? `has the address ${host}, which is not public.`
        : `has the host ${host}, which has an address that is not public.`,
      networkHint(host),
    )
  }
  if (url.protocol === 'http:' && standings.includes('public')) throw plainRefused(host)
  return addresses
}

/** A declaration does not wait longer for a name server. */
const resolveMsMax = 3_000

/**
 * The most lookups for declarations that run in the process at once, including those that timed out. Any further name
 * counts as unknown.
 */
const lookupsMax = 256
const resolveSome = atMostAtOnce(resolveName, lookupsMax)

/**
 * Checks the target of a declaration: throws `push_target_refused` with the field if the target must not be reached. A name that
 * does not resolve, or not in time, is accepted: each attempt checks again.
 */
export const checkTarget = async (
  url: string,
  allow: Allow,
  resolve: Resolve = resolveSome,
  msMax = resolveMsMax,
  field = 'url',
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
    throw new CubbyError('push_target_refused', `${field} ${error.message}`, { field, hint: error.hint })
  } finally {
    clearTimeout(timer)
  }
}
