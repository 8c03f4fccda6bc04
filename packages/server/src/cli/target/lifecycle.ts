import { pageRowsMax } from '../../core/limits.ts'
import { type Arguments, type Flag, UsageError } from '../arguments.ts'
import { printJson, printLine } from '../print.ts'
import { type Call, openRemote } from './remote.ts'

// What the commands for tables and for buckets share.

/** Sends one request and prints the answer unchanged. */
export const printAnswer = async (args: Arguments, call: Call): Promise<number> => {
  printLine(await openRemote(args).request(call))
  return 0
}

/** All pages of a listing, one entry per line. `path` has no query string. */
export const printListing = async (args: Arguments, path: string, member: 'tables' | 'buckets'): Promise<number> => {
  const first = `${path}?limit=${pageRowsMax}${args.flag('deleted') ? '&deleted=true' : ''}`
  const remote = openRemote(args)
  for (let after = ''; ; ) {
    const page = JSON.parse(await remote.request({ method: 'GET', path: first + after, repeatable: true }))
    for (const entry of page[member]) printJson(entry)
    if (page.cursor === null) return 0
    after = `&cursor=${encodeURIComponent(page.cursor)}`
  }
}

export const deletedAtFlag = (what: string): Flag => ({
  type: 'string',
  value: 'MS',
  help: `its deletedAt in epoch milliseconds; default: the ${what} deleted last`,
})

/** The body of a restore. `listing` is the command that shows `deletedAt`. */
export const restoreBody = (args: Arguments, listing: string): string | undefined => {
  const deletedAt = args.text('deleted-at')
  if (deletedAt === undefined) return undefined
  if (/^[0-9]{1,16}$/.test(deletedAt)) return `{"deletedAt":${Number(deletedAt)}}`
  throw new UsageError(`--deleted-at is "${deletedAt}"; it takes epoch milliseconds, see ${listing}`)
}
