import { parseName } from '../../core/names.ts'
import { OperatorError } from '../../core/operator-error.ts'
import {
  createOrganization,
  createOrganizationOperation,
  presentNewOrganization,
} from '../../operations/organizations/create-organization.ts'
import { deleteOrganization, deleteOrganizationOperation } from '../../operations/organizations/delete-organization.ts'
import {
  listOrganizations,
  listOrganizationsOperation,
  presentOrganizations,
} from '../../operations/organizations/list-organizations.ts'
import { presentOrganization } from '../../operations/organizations/present-organization.ts'
import {
  restoreOrganization,
  restoreOrganizationOperation,
} from '../../operations/organizations/restore-organization.ts'
import { openClock } from '../../process/clock.ts'
import type { Organization } from '../../store/organizations.ts'
import { type Arguments, jsonFlag, orUsageError, UsageError } from '../arguments.ts'
import { type CliCommand, summaryOf } from '../command.ts'
import { printJson, printLine, printNote, printTable } from '../print.ts'
import { filesFlag } from '../target/blob-store.ts'
import { noOrganization, restorableUntil, restoreNote } from '../target/organization.ts'
import { storeFlags, withStore } from '../target/store.ts'
import { exportFromStore } from '../transfer/export-from-store.ts'
import type { ExportedRows } from '../transfer/export-organization.ts'
import { showCount } from '../transfer/progress-line.ts'
import { writeDirectory } from '../transfer/write-directory.ts'

const createCommand: CliCommand = {
  name: 'orgs create',
  positionals: ['NAME'],
  summary: summaryOf(createOrganizationOperation),
  details: 'The keys are printed only once: the store keeps their hashes.',
  example: 'cubby orgs create acme',
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const name = parseOrganizationName(args)
    return withStore(args, { mustExist: false }, async (engine) => {
      const made = await createOrganization({ engine }, { name }, openClock(process.env).now())
      if (made === undefined) throw taken(name, await engine.organizations.find(name))
      if (args.flag('json')) printJson(presentNewOrganization(made))
      else {
        printLine(`organization ${name}`)
        printLine(`secret key   ${made.secretKey}`)
        printLine(`public key   ${made.publicKey}`)
      }
      return 0
    })
  },
}

/** The name of a deleted one is taken too, until it is removed for good. */
const taken = (name: string, found: Organization | undefined): OperatorError => {
  const isDeleted = found !== undefined && found.deletedAtMs !== null
  const more = isDeleted ? `, deleted ${showTime(found.deletedAtMs!)}; ${restoreNote(found)}` : ''
  return new OperatorError(`there is already an organization ${name}${more}`)
}

const showTime = (ms: number): string => new Date(ms).toISOString()

const parseOrganizationName = (args: Arguments): string => orUsageError(() => parseName(args.positionals[0], 'NAME'))

const listCommand: CliCommand = {
  name: 'orgs list',
  summary: summaryOf(listOrganizationsOperation),
  example: 'cubby orgs list',
  flags: { ...storeFlags, json: jsonFlag },
  run: (args) =>
    withStore(args, { mustExist: true }, async (engine) => {
      const organizations = await listOrganizations({ engine })
      if (args.flag('json')) printJson(presentOrganizations(organizations))
      else {
        const rows = organizations.map((one) => [one.name, showTime(one.createdAtMs), showStatus(one)])
        printTable([['NAME', 'CREATED', 'STATUS'], ...rows])
      }
      return 0
    }),
}

const showStatus = (organization: Organization): string =>
  organization.deletedAtMs === null ? 'active' : `deleted, restorable until ${restorableUntil(organization)}`

const deleteCommand: CliCommand = {
  name: 'orgs delete',
  positionals: ['NAME'],
  summary: summaryOf(deleteOrganizationOperation),
  details: `When the command ends, running servers answer 401 invalid_api_key to its keys and 404 to the URLs of its
files, and its tasks stop: no run is claimed, pushed or scheduled. Requests in flight are not applied.
For 7 days cubby orgs restore brings all of it back. Then a server removes it for good, in small steps,
and its name is free. cubby orgs export keeps a copy.`,
  example: 'cubby orgs delete acme --confirm acme',
  flags: {
    ...storeFlags,
    confirm: { type: 'string', value: 'NAME', help: 'the name once more: without it nothing is deleted' },
    json: jsonFlag,
  },
  async run(args) {
    const name = parseOrganizationName(args)
    const confirmed = args.text('confirm')
    if (confirmed === undefined) throw new UsageError(`nothing was deleted: repeat the name, with --confirm ${name}`)
    if (confirmed !== name)
      throw new UsageError(`nothing was deleted: --confirm is "${confirmed}", and the organization is "${name}"`)
    return withStore(args, { mustExist: true }, async (engine) => {
      const result = await deleteOrganization({ engine }, { name }, openClock(process.env).now())
      if (result === undefined) throw noOrganization(name)
      const { organization, outcome } = result
      if (args.flag('json')) printJson(presentOrganization(organization))
      else {
        const when = outcome === 'already' ? ` already, ${showTime(organization.deletedAtMs!)}` : ''
        printLine(`deleted ${name}${when}; ${restoreNote(organization)}`)
      }
      const all = await listOrganizations({ engine })
      if (all.every(({ deletedAtMs }) => deletedAtMs !== null))
        printNote('the store has no other organization; create one with cubby orgs create NAME')
      return 0
    })
  },
}

const restoreCommand: CliCommand = {
  name: 'orgs restore',
  positionals: ['NAME'],
  summary: summaryOf(restoreOrganizationOperation),
  details: `Its keys work again when the command ends. Keys that were revoked before stay revoked, and tables that were
deleted before stay deleted.`,
  example: 'cubby orgs restore acme',
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const name = parseOrganizationName(args)
    return withStore(args, { mustExist: true }, async (engine) => {
      const result = await restoreOrganization({ engine }, { name }, openClock(process.env).now())
      if (result === undefined) throw noOrganization(name)
      const { organization, outcome } = result
      if (outcome === 'over')
        throw new OperatorError(
          `${name} could be restored until ${restorableUntil(organization)}; servers remove it now`,
        )
      if (args.flag('json')) printJson(presentOrganization(organization))
      else printLine(outcome === 'active' ? `${name} is not deleted; nothing was changed` : `restored ${name}`)
      return 0
    })
  },
}

const exportCommand: CliCommand = {
  name: 'orgs export',
  positionals: ['NAME'],
  summary: 'export everything of one organization into a directory',
  details: `The records of each database are written as cubby export writes them, with the files of buckets, the
declarations of tasks and their runs, and a list of the API keys without the keys themselves.
Secrets and authorization headers of tasks are left out, and so are deleted tables, buckets and tasks.
The export is one consistent snapshot of the store. A server may run, and the organization may be deleted.
DIR must not exist. It gets its name when it is complete.`,
  example: 'cubby orgs export acme --to ./acme',
  flags: {
    ...storeFlags,
    to: { type: 'string', value: 'DIR', help: 'the new directory' },
    files: filesFlag,
    'without-files': { type: 'boolean', help: 'leave the bytes of files out' },
    json: { ...jsonFlag, help: 'print the summary as JSON' },
  },
  async run(args) {
    const name = parseOrganizationName(args)
    const dir = args.text('to')
    if (dir === undefined || dir === '')
      throw new UsageError('--to DIR is missing; it takes the name of a new directory')
    const rows = await withStore(args, { mustExist: true }, (engine) =>
      writeDirectory(dir, (temporary) => exportFromStore(args, engine, name, temporary)),
    )
    if (args.flag('json')) printJson({ organization: name, to: dir, ...rows })
    else printLine(`exported ${name} to ${dir}: ${showRows(rows)}`)
    return 0
  },
}

const showRows = (rows: ExportedRows): string =>
  [
    ...[showCount(rows.tables, 'table'), showCount(rows.records), showCount(rows.buckets, 'bucket')],
    ...[showCount(rows.files, 'file'), showCount(rows.tasks, 'task'), showCount(rows.runs, 'run')],
  ].join(', ')

export const orgsCommands: CliCommand[] = [createCommand, listCommand, deleteCommand, restoreCommand, exportCommand]
