import type { RoutedOperationId } from '../../operations/catalogue.ts'
import { type Arguments, jsonFlag, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine, printTable } from '../print.ts'
import { checkName } from '../target/address.ts'
import { checkJson, objectText } from '../target/json-object.ts'
import { openRemote, remoteFlags, requestOf } from '../target/remote.ts'
import { printObject } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'
import { grantsFlag } from './tokens.ts'

// The login services whose tokens are exchanged.

const exampleName = 'login'

/** The flags, and the members of the request that they are. */
const memberOf = {
  ...{ issuer: 'issuer', audience: 'audience', 'keys-url': 'keysUrl', user: 'user' },
  ...{ keys: 'keys', grants: 'grants' },
}

const isJson = (flag: string): boolean => flag === 'keys' || flag === 'grants'

const addressOf = (args: Arguments) => ({ name: checkName(args.positionals[0]!, 'NAME') })

const putCommand: CliCommand = {
  ...wordsOf('putIssuer'),
  details: `The issuer is replaced as a whole. In --user, and in db, hash and prefix of the grants, {claim} stands for a claim of the
login token. A change ends the tokens that were exchanged before.`,
  example: `cubby issuers put ${exampleName} --issuer https://example.eu.auth0.com/ --audience notes \\
    --keys-url https://example.eu.auth0.com/.well-known/jwks.json \\
    --grants '[{"db":"app","table":"notes","hash":"{sub}","can":"write"}]'`,
  flags: {
    issuer: { type: 'string', value: 'TEXT', help: 'the iss of its tokens' },
    audience: { type: 'string', value: 'TEXT', help: 'their aud is this, or contains it' },
    'keys-url': { type: 'string', value: 'URL', help: 'where it publishes its public keys' },
    keys: { type: 'string', value: 'JSON', help: 'its public keys (JWKS), instead of --keys-url' },
    user: { type: 'string', value: 'TEXT', help: 'the user; default: NAME:{sub}' },
    grants: grantsFlag,
    ...remoteFlags,
  },
  async run(args) {
    const members: Record<string, string> = {}
    for (const [flag, member] of Object.entries(memberOf)) {
      const text = args.text(flag)
      if (text !== undefined) members[member] = isJson(flag) ? checkJson(text, `--${flag}`) : JSON.stringify(text)
    }
    for (const flag of ['issuer', 'audience', 'grants']) {
      if (members[flag] === undefined) throw new UsageError(`--${flag} is missing`)
    }
    // The same declaration again changes nothing.
    const call = { ...requestOf('putIssuer', addressOf(args)), body: objectText(members), repeatable: true }
    await printObject(await openRemote(args).request(call))
    return 0
  },
}

const oneIssuer = (id: RoutedOperationId, repeatable: boolean, details?: string): CliCommand => {
  const words = wordsOf(id)
  return {
    ...words,
    ...(details !== undefined && { details }),
    example: `cubby ${words.name} ${exampleName}`,
    flags: remoteFlags,
    async run(args) {
      await printObject(await openRemote(args).request({ ...requestOf(id, addressOf(args)), repeatable }))
      return 0
    },
  }
}

const listCommand: CliCommand = {
  ...wordsOf('listIssuers'),
  details: 'One issuer per line. --json prints the whole declarations.',
  flags: { ...remoteFlags, json: { ...jsonFlag, help: 'print JSON, as the API has it' } },
  async run(args) {
    const answer = await openRemote(args).request({ ...requestOf('listIssuers', {}), repeatable: true })
    if (args.flag('json')) {
      await printObject(answer)
      return 0
    }
    const { issuers } = JSON.parse(answer) as { issuers: { name: string; issuer: string; audience: string }[] }
    if (issuers.length === 0) printLine('no issuers')
    else
      printTable([
        ['NAME', 'ISSUER', 'AUDIENCE'],
        ...issuers.map(({ name, issuer, audience }) => [name, issuer, audience]),
      ])
    return 0
  },
}

export const issuersCommands: CliCommand[] = [
  putCommand,
  oneIssuer('getIssuer', true),
  listCommand,
  oneIssuer('deleteIssuer', true, 'Its tokens end.'),
]
