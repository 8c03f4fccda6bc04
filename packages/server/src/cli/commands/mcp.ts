import { type Arguments, givenAs, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printNote } from '../print.ts'
import { StdioBridge } from '../stdio/bridge.ts'
import { readMessages } from '../stdio/read-messages.ts'
import { optionalName } from '../target/address.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'
import { writeTextToStdout } from '../transfer/write-lines.ts'

/** A variable with a typo must not switch the protection off. */
const parseReadOnly = (args: Arguments): boolean => {
  if (args.isGiven('read-only')) return true
  const text = args.text('read-only') ?? 'no'
  if (/^(?:1|true|yes)$/i.test(text)) return true
  if (/^(?:0|false|no)$/i.test(text)) return false
  throw new UsageError(`${givenAs(args, 'read-only')} is "${text}"; it takes 1 or 0`)
}

export const mcpCommand: CliCommand = {
  name: 'mcp',
  summary: 'tools for agents on standard input and output (MCP)',
  details: `For clients of the Model Context Protocol that start a program, as desktop clients do. Each line of standard
input is one message. It is sent to /mcp of the server, and the answer is one line of standard output.`,
  example: 'cubby mcp --read-only --db app',
  flags: {
    'read-only': { type: 'boolean', help: 'only the tools that read, whatever the key may do' },
    db: { type: 'string', value: 'NAME', help: 'only this database; the tools have no argument db' },
    ...remoteFlags,
  },
  async run(args) {
    const parameters = new URLSearchParams()
    if (parseReadOnly(args)) parameters.set('readOnly', 'true')
    const db = optionalName(args, 'db')
    if (db !== undefined) parameters.set('db', db)
    const remote = openRemote(args)
    if (process.stdin.isTTY) printNote('cubby: waiting for the messages of an MCP client on standard input')
    const path = parameters.size === 0 ? '/mcp' : `/mcp?${parameters}`
    const stopInput = (): void => {
      process.stdin.destroy()
    }
    await new StdioBridge({ remote, path, write: writeTextToStdout, stopInput }).run(readMessages(process.stdin))
    return 0
  },
}
