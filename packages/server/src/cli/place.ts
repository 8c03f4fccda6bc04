import type { StoreLocation } from '../engines/open-engine.ts'
import type { Engine } from '../store/engine.ts'
import type { Organization } from '../store/organizations.ts'
import { type Arguments, CommandFailed, type Flag, UsageError } from './command.ts'
import { defaultUrl, openRemote, type Remote } from './remote.ts'

/** Where export reads and import writes: a server, or the store itself. */
export type Place = { kind: 'server'; remote: Remote } | { kind: 'store'; location: StoreLocation; org: string }

export const placeFlags: Record<string, Flag> = {
  url: { type: 'string', value: 'URL', help: `the server (${defaultUrl})` },
  key: { type: 'string', value: 'APIKEY', help: 'an API key; rather set CUBBY_KEY: others can see flags' },
  data: { type: 'string', value: 'DIR', help: 'not the server but the store itself, in this data directory' },
  store: { type: 'string', value: 'URL', help: 'or in this database: postgres://user:password@host/db' },
  org: { type: 'string', value: 'NAME', help: 'with --data or --store: the organization (default)' },
}

const variable = (flag: string): string => `CUBBY_${flag.toUpperCase()}`

/** A flag wins over the environment: `--data` works although CUBBY_KEY is set, and the other way round. */
export const choosePlace = (args: Arguments, attemptsMax?: number): Place => {
  const serverFlags = ['url', 'key']
  const storeFlags = ['data', 'store']
  const given = [...serverFlags, ...storeFlags].filter((flag) => args.isGiven(flag))
  const known = given.length > 0 ? given : [...serverFlags, ...storeFlags].filter((flag) => args.text(flag))
  const server = known.find((flag) => serverFlags.includes(flag))
  const store = known.find((flag) => storeFlags.includes(flag))
  if (server !== undefined && store !== undefined) {
    const names = given.length > 0 ? [`--${server}`, `--${store}`] : [variable(server), variable(store)]
    throw new UsageError(`${names[0]} names a server and ${names[1]} a store: give one of them`)
  }
  if (store !== undefined) {
    const location = { data: args.text('data') ?? '', store: args.text('store') }
    // `--data DIR` beside a CUBBY_STORE that only the environment knows.
    if (given.length > 0 && !args.isGiven('store')) location.store = undefined
    return { kind: 'store', location, org: args.text('org') ?? 'default' }
  }
  if (args.isGiven('org')) {
    throw new UsageError('--org goes with --data or --store; over HTTP the API key names the organization')
  }
  if (args.text('key') === undefined) {
    throw new UsageError('set CUBBY_KEY or give --key for a server, or --data DIR for the store itself')
  }
  return { kind: 'server', remote: openRemote(args, attemptsMax) }
}

export const requireOrganization = async (engine: Engine, name: string): Promise<Organization> => {
  const organization = await engine.organizations.find(name)
  if (organization !== undefined) return organization
  throw new CommandFailed(
    `there is no organization ${name}; see cubby orgs list, or make it: cubby orgs create ${name}`,
  )
}
