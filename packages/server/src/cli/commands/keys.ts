import { parseExpiresAt, parseKeyDatabases, parseKeyKind, parseKeyName } from '../../core/api-keys/api-key.ts'
import { CubbyError } from '../../core/errors.ts'
import { pageRowsMax, rollOverlapMsMax } from '../../core/limits.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { parseIsoDateTime } from '../../core/text/iso-date-time.ts'
import type { OperatorAccess } from '../../operations/access.ts'
import { createApiKey } from '../../operations/api-keys/create-api-key.ts'
import { listApiKeys } from '../../operations/api-keys/list-api-keys.ts'
import { presentApiKey, presentNewApiKey, presentRolledApiKey } from '../../operations/api-keys/present-api-key.ts'
import { revokeApiKey } from '../../operations/api-keys/revoke-api-key.ts'
import { rollApiKey } from '../../operations/api-keys/roll-api-key.ts'
import { openClock } from '../../process/clock.ts'
import type { ApiKey } from '../../store/api-keys.ts'
import type { Engine } from '../../store/engine.ts'
import type { Organization } from '../../store/organizations.ts'
import { jsonFlag, orUsageError, parseDurationFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine, printTable, tableWidth } from '../print.ts'
import { orgFlag, requireOrganization } from '../target/organization.ts'
import { storeFlags, withStore } from '../target/store.ts'
import { wordsOf } from '../verb-command.ts'

const asOperator = (engine: Engine, { id }: Organization): OperatorAccess => ({ engine, orgId: id })

const parseInstant = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const instant = parseIsoDateTime(text) ?? (/^[0-9]+$/.test(text) ? Number(text) : undefined)
  if (instant !== undefined) return instant
  throw new UsageError(
    `--expires-at is "${text}"; it takes epoch milliseconds or a date-time like 2027-01-01T00:00:00Z`,
  )
}

const printNewKey = (organization: Organization, apiKey: ApiKey, text: string): void => {
  printLine(`organization  ${organization.name}`)
  printLine(`id            ${apiKey.id}`)
  printLine(`key           ${text}`)
}

/** The hint of the error would leave out the organization. */
const explained = async <T>(change: Promise<T>, { name }: Organization): Promise<T> => {
  try {
    return await change
  } catch (error) {
    if (!(error instanceof CubbyError) || error.code !== 'key_not_found') throw error
    throw new OperatorError(`${name} has no API key with that id; see cubby keys list --org ${name}`)
  }
}

const createCommand: CliCommand = {
  ...wordsOf('createApiKey'),
  details: 'The key is printed only once: the store keeps its hash.',
  flags: {
    ...storeFlags,
    org: orgFlag,
    kind: { type: 'string', value: 'KIND', help: 'secret (reads and writes) or public (reads)' },
    name: { type: 'string', value: 'TEXT', help: 'a label for the key' },
    'expires-at': { type: 'string', value: 'TIME', help: 'epoch milliseconds or an ISO-8601 date-time' },
    databases: { type: 'string', value: 'A,B', help: 'limit the key to these databases' },
    json: jsonFlag,
  },
  async run(args) {
    if (args.text('kind') === undefined) throw new UsageError('--kind secret or --kind public is missing')
    const nowMs = openClock(process.env).now()
    const request = orUsageError(() => ({
      kind: parseKeyKind(args.text('kind')),
      name: parseKeyName(args.text('name')),
      expiresAtMs: parseExpiresAt(parseInstant(args.text('expires-at')), nowMs),
      databases: parseKeyDatabases(args.text('databases')?.split(',')),
    }))
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization(engine, args.text('org')!)
      const { apiKey, text } = await createApiKey(asOperator(engine, organization), request, nowMs)
      if (args.flag('json')) printJson(presentNewApiKey(apiKey, text))
      else printNewKey(organization, apiKey, text)
      return 0
    })
  },
}

const listCommand: CliCommand = {
  ...wordsOf('listApiKeys'),
  details: `The keys of the organization, newest first: the databases that a key may use, when it expires and when it was
last used, in UTC. The time of the last use may be 30 seconds late.`,
  flags: { ...storeFlags, org: orgFlag, json: jsonFlag },
  async run(args) {
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization(engine, args.text('org')!)
      const nowMs = openClock(process.env).now()
      const keys: ApiKey[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await listApiKeys(asOperator(engine, organization), { limit: pageRowsMax, cursor }, nowMs)
        keys.push(...page.keys)
        cursor = page.cursor
      }
      const shown = keys.map((key) => presentApiKey(key, nowMs))
      if (args.flag('json')) printJson({ keys: shown, cursor: null })
      else {
        // A script that names the organization gets the table alone.
        if (!args.isGiven('org')) printLine(`organization ${organization.name}`)
        printKeys(shown)
      }
      return 0
    })
  },
}

/** One line per key. A terminal that is too narrow for it gets two: a line that wraps inside its columns is hard to read. */
const printKeys = (keys: ReturnType<typeof presentApiKey>[]): void => {
  const rows = keys.map((key) => [
    ...[key.id, key.kind, key.status, key.masked],
    ...[showTime(key.expiresAt), showTime(key.lastUsedAt), showDatabases(key.databases), key.name ?? ''],
  ])
  const table = [['ID', 'KIND', 'STATUS', 'KEY', 'EXPIRES', 'LAST USED', 'DATABASES', 'NAME'], ...rows]
  if (!process.stdout.isTTY || tableWidth(table) <= process.stdout.columns) {
    printTable(table)
    return
  }
  for (const [id, kind, status, masked, expires, lastUsed, databases, name] of rows) {
    printLine([id, kind, status!.padEnd(7), masked!.padEnd(17), name].join('  ').trimEnd())
    printLine(`  expires ${expires}, last used ${lastUsed}, databases ${databases}`)
  }
}

/** Shows the time to the minute, and without a space, so that columns can be split. */
const showTime = (ms: number | null): string =>
  ms === null ? 'never' : `${new Date(ms).toISOString().slice(0, 'YYYY-MM-DDTHH:mm'.length)}Z`

const databasesShownMax = 3

const showDatabases = (databases: string[] | null): string => {
  if (databases === null) return 'all'
  const more = databases.length - databasesShownMax
  return databases.slice(0, databasesShownMax).join(',') + (more > 0 ? `,+${more}` : '')
}

const revokeCommand: CliCommand = {
  ...wordsOf('revokeApiKey'),
  details: 'This is permanent. When the command ends, running servers reject the key too.',
  flags: { ...storeFlags, org: orgFlag, json: jsonFlag },
  async run(args) {
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization(engine, args.text('org')!)
      const nowMs = openClock(process.env).now()
      const revoking = revokeApiKey(asOperator(engine, organization), { id: args.positionals[0]! }, nowMs)
      const key = await explained(revoking, organization)
      if (args.flag('json')) printJson(presentApiKey(key, nowMs))
      else printLine(`revoked ${key.id} of the organization ${organization.name}`)
      return 0
    })
  },
}

const rollCommand: CliCommand = {
  ...wordsOf('rollApiKey'),
  details: `Prints the new key, which has the same kind, name and databases. Both keys work for the time of --overlap,
so that programs can be changed one by one. When the command ends, this holds for running servers too.`,
  flags: {
    ...storeFlags,
    org: orgFlag,
    overlap: {
      type: 'string',
      value: 'TIME',
      help: 'how long the old key still works, such as 30m or 7d; 0s revokes it',
      default: '24h',
    },
    json: jsonFlag,
  },
  async run(args) {
    const overlapMs = parseDurationFlag(args, 'overlap', 0, rollOverlapMsMax)
    return withStore(args, { mustExist: true }, async (engine) => {
      const organization = await requireOrganization(engine, args.text('org')!)
      const nowMs = openClock(process.env).now()
      const request = { id: args.positionals[0]!, oldEndMs: nowMs + overlapMs }
      const { apiKey, text } = await explained(
        rollApiKey(asOperator(engine, organization), request, nowMs),
        organization,
      )
      if (args.flag('json')) printJson(presentRolledApiKey(apiKey, text))
      else printNewKey(organization, apiKey, text)
      return 0
    })
  },
}

export const keysCommands: CliCommand[] = [createCommand, listCommand, rollCommand, revokeCommand]
