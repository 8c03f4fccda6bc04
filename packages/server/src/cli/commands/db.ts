import { jsonFlag } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine } from '../print.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'
import { listPages } from '../transfer/pages.ts'
import { wordsOf } from '../verb-command.ts'

export const dbListCommand: CliCommand = {
  ...wordsOf('listDatabases'),
  details: `The databases that the API key may use and that have a table, by name, one per line. A database needs no
command of its own: it begins with its first table.`,
  flags: { ...remoteFlags, json: { ...jsonFlag, help: 'print JSON, one name per line' } },
  async run(args) {
    for await (const names of listPages(openRemote(args), 'listDatabases', 'databases', {})) {
      for (const name of names) printLine(args.flag('json') ? name : JSON.parse(name))
    }
    return 0
  },
}
