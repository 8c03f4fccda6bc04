import { parseName } from '../../core/names.ts'
import { OperatorError } from '../../core/operator-error.ts'
import {
  createOrganization,
  createOrganizationOperation,
  presentNewOrganization,
} from '../../operations/organizations/create-organization.ts'
import {
  listOrganizations,
  listOrganizationsOperation,
  presentOrganizations,
} from '../../operations/organizations/list-organizations.ts'
import { openClock } from '../../process/clock.ts'
import { jsonFlag, orUsageError } from '../arguments.ts'
import { type CliCommand, summaryOf } from '../command.ts'
import { printJson, printLine, printTable } from '../print.ts'
import { storeFlags, withStore } from '../target/store.ts'

export const orgsCreateCommand: CliCommand = {
  name: 'orgs create',
  positionals: ['NAME'],
  summary: summaryOf(createOrganizationOperation),
  details: 'The keys are printed only once: the store keeps their hashes.',
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const name = orUsageError(() => parseName(args.positionals[0], 'NAME'))
    return withStore(args, { mustExist: false }, async (engine) => {
      const made = await createOrganization({ engine }, { name }, openClock(process.env).now())
      if (made === undefined) throw new OperatorError(`there is already an organization ${name}`)
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

export const orgsListCommand: CliCommand = {
  name: 'orgs list',
  summary: summaryOf(listOrganizationsOperation),
  flags: { ...storeFlags, json: jsonFlag },
  run: (args) =>
    withStore(args, { mustExist: true }, async (engine) => {
      const organizations = await listOrganizations({ engine })
      if (args.flag('json')) printJson(presentOrganizations(organizations))
      else {
        const rows = organizations.map(({ name, createdAtMs }) => [name, new Date(createdAtMs).toISOString()])
        printTable([['NAME', 'CREATED'], ...rows])
      }
      return 0
    }),
}
