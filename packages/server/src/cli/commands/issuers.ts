import { OperatorError } from '../../core/operator-error.ts'
import type { RoutedOperationId } from '../../operations/catalogue.ts'
import { type Arguments, jsonFlag } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine, printTable } from '../print.ts'
import { checkName } from '../target/address.ts'
import { checkObject, readStdin } from '../target/json-object.ts'
import { openRemote, remoteFlags, requestOf } from '../target/remote.ts'
import { printObject } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

// The login services whose tokens are exchanged.

const readDeclaration = async (file: string): Promise<string> => {
  if (file === '-') return readStdin('the declaration')
  try {
    return await Bun.file(file).text()
  } catch (error) {
    throw new OperatorError(`${file} cannot be read: ${(error as Error).message}`)
  }
}

/** A command that sends one request about one issuer, and prints the answer. */
const issuerCommand = (
  id: RoutedOperationId,
  differences: Partial<CliCommand> = {},
  bodyOf?: (args: Arguments) => Promise<string>,
): CliCommand => {
  const { name, positionals, summary } = wordsOf(id)
  return {
    ...{ name, positionals, summary, example: `cubby ${name} login`, flags: remoteFlags },
    ...differences,
    async run(args) {
      const call = requestOf(id, { name: checkName(args.positionals[0]!, 'NAME') })
      const body = await bodyOf?.(args)
      // The same declaration again changes nothing, and nobody needs to know which of two deletions it was.
      await printObject(await openRemote(args).request({ ...call, body, repeatable: true }))
      return 0
    },
  }
}

const listCommand: CliCommand = {
  ...wordsOf('listIssuers'),
  details: 'One issuer per line. --json prints the whole declarations.',
  flags: { ...remoteFlags, json: jsonFlag },
  async run(args) {
    const answer = await openRemote(args).request({ ...requestOf('listIssuers', {}), repeatable: true })
    if (args.flag('json')) {
      await printObject(answer)
      return 0
    }
    const { issuers }: { issuers: Record<string, string>[] } = JSON.parse(answer)
    if (issuers.length === 0) printLine('no issuers')
    else
      printTable([['NAME', 'ISSUER', 'AUDIENCE'], ...issuers.map((each) => [each.name!, each.issuer!, each.audience!])])
    return 0
  },
}

export const issuersCommands: CliCommand[] = [
  issuerCommand(
    'putIssuer',
    {
      positionals: ['NAME', 'FILE'],
      example: 'cubby issuers put login login.json',
      details: `FILE has the declaration, a JSON object with issuer, audience, keys or keysUrl, grants, and perhaps user; - is
standard input. It is replaced as a whole. A change ends the tokens that were exchanged before.`,
    },
    async ({ positionals: [, file] }) => checkObject(await readDeclaration(file!), 'the declaration'),
  ),
  issuerCommand('getIssuer'),
  listCommand,
  issuerCommand('deleteIssuer', { details: 'Its tokens end.' }),
]
