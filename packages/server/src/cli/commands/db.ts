import { pageRowsMax } from '../../core/limits.ts'
import { listDatabasesOperation } from '../../operations/tables/list-databases.ts'
import { type CliCommand, summaryOf } from '../command.ts'
import { printLine } from '../print.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'

export const dbListCommand: CliCommand = {
  name: 'db list',
  summary: summaryOf(listDatabasesOperation),
  details: `The databases that the API key may use and that have a table, by name, one per line. A database needs no
command of its own: it begins with its first table.`,
  flags: { ...remoteFlags },
  async run(args) {
    const remote = openRemote(args)
    for (let after = ''; ; ) {
      const path = `/v1?limit=${pageRowsMax}${after}`
      const page = JSON.parse(await remote.request({ method: 'GET', path, repeatable: true }))
      for (const name of page.databases) printLine(name)
      if (page.cursor === null) return 0
      after = `&cursor=${encodeURIComponent(page.cursor)}`
    }
  },
}
