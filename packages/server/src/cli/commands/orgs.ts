import { makeApiKey } from '../../core/api-keys/api-key.ts'
import { parseName } from '../../core/names.ts'
import { OperatorError } from '../../core/operator-error.ts'
import { openClock } from '../../process/clock.ts'
import { jsonFlag, orUsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine, printTable } from '../print.ts'
import { storeFlags, withStore } from '../target/store.ts'

export const orgsCreateCommand: CliCommand = {
  name: 'orgs create',
  positionals: ['NAME'],
  summary: 'create an organization with its first secret and public key',
  details: 'The keys are printed only once: the store keeps their hashes.',
  flags: { ...storeFlags, json: jsonFlag },
  async run(args) {
    const name = orUsageError(() => parseName(args.positionals[0], 'NAME'))
    return withStore(args, { mustExist: false }, async (engine) => {
      const secret = makeApiKey({ kind: 'secret' })
      const open = makeApiKey({ kind: 'public' })
      const organization = await engine.organizations.create(
        name,
        [secret.kept, open.kept],
        openClock(process.env).now(),
      )
      if (organization === undefined) throw new OperatorError(`there is already an organization ${name}`)
      if (args.flag('json')) printJson({ id: organization.id, name, secretKey: secret.text, publicKey: open.text })
      else {
        printLine(`organization ${name}`)
        printLine(`secret key   ${secret.text}`)
        printLine(`public key   ${open.text}`)
      }
      return 0
    })
  },
}

export const orgsListCommand: CliCommand = {
  name: 'orgs list',
  summary: 'list the organizations',
  flags: { ...storeFlags, json: jsonFlag },
  run: (args) =>
    withStore(args, { mustExist: true }, async (engine) => {
      const organizations = await engine.organizations.list()
      if (args.flag('json')) {
        printJson({
          organizations: organizations.map(({ id, name, createdAtMs }) => ({ id, name, createdAt: createdAtMs })),
        })
      } else {
        const rows = organizations.map(({ name, createdAtMs }) => [name, new Date(createdAtMs).toISOString()])
        printTable([['NAME', 'CREATED'], ...rows])
      }
      return 0
    }),
}
