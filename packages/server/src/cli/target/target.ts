import type { StoreLocation } from '../../engines/open-engine.ts'
import { type Arguments, environmentName, type Flag, givenAs, UsageError } from '../arguments.ts'
import { orgFlag } from './organization.ts'
import { defaultUrl, openRemote, type Remote } from './remote.ts'

/** The source of an export or the target of an import: a server, or the store itself. */
export type Target = { kind: 'server'; remote: Remote } | { kind: 'store'; location: StoreLocation; org: string }

export const targetFlags: Record<string, Flag> = {
  url: { type: 'string', value: 'URL', help: `the server's address (${defaultUrl})` },
  key: { type: 'string', value: 'APIKEY', help: 'an API key; prefer CUBBY_KEY: other users can see flags' },
  data: { type: 'string', value: 'DIR', help: 'use the store in this data directory, not a server' },
  store: { type: 'string', value: 'URL', help: 'use the store in this database: postgres://user:password@host/db' },
  org: { type: 'string', value: 'NAME', help: 'with --data or --store: the organization (default)' },
}

/** A flag outranks the environment: `--data` works although CUBBY_KEY is set, and `--key` although CUBBY_DATA is. */
export const chooseTarget = (args: Arguments, attemptsMax?: number): Target => {
  const serverFlags = ['url', 'key']
  const storeFlags = ['data', 'store']
  const given = [...serverFlags, ...storeFlags].filter((flag) => args.isGiven(flag))
  const known = given.length > 0 ? given : [...serverFlags, ...storeFlags].filter((flag) => args.text(flag))
  const server = known.find((flag) => serverFlags.includes(flag))
  const store = known.find((flag) => storeFlags.includes(flag))
  if (server !== undefined && store !== undefined) {
    const names = given.length > 0 ? [`--${server}`, `--${store}`] : [environmentName(server), environmentName(store)]
    throw new UsageError(`${names[0]} names a server and ${names[1]} a store: give only one of them`)
  }
  if (store !== undefined) {
    const location: StoreLocation = { data: args.text('data') ?? '', store: args.text('store') }
    location.storeGivenAs = givenAs(args, 'store')
    // `--data DIR` outranks CUBBY_STORE.
    if (given.length > 0 && !args.isGiven('store')) location.store = undefined
    return { kind: 'store', location, org: args.text('org') ?? orgFlag.default! }
  }
  if (args.isGiven('org')) {
    throw new UsageError('--org needs --data or --store; over HTTP the API key names the organization')
  }
  if (args.text('key') === undefined) {
    throw new UsageError('set CUBBY_KEY or give --key for a server, or --data DIR for the store itself')
  }
  return { kind: 'server', remote: openRemote(args, attemptsMax) }
}
