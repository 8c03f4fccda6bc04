import { CubbyError } from '../core/errors.ts'
import { findOperation, type RoutedOperationId } from '../operations/catalogue.ts'
import { pathNames } from '../operations/parse-input.ts'
import { shellLanguage } from '../operations/shell-hint.ts'
import { type Arguments, type Flag, jsonFlag, UsageError } from './arguments.ts'
import { type CliCommand, summaryOf } from './command.ts'
import { errorLine } from './hint-text.ts'
import { printLine, printNote } from './print.ts'
import { checkName, dbFlag, requireName, requireRunId } from './target/address.ts'
import { openRemote, remoteFlags, requestOf } from './target/remote.ts'
import { printCollections } from './transfer/collection-list.ts'
import { listPages } from './transfer/pages.ts'
import { oneRunCodes } from './transfer/runs-by-status.ts'
import { printObject, printObjects } from './transfer/write-lines.ts'

// Commands that do what one operation does. Their words and their request come from its description.

/** The names in examples. */
const sampleNames = {
  ...{ db: 'app', table: 'orders', hashKey: 'ada', rangeKey: 'o-1', bucket: 'photos', name: 'cats/tom.jpg' },
  ...{ task: 'mail', run: 'order-1', id: 'key_1Hb0kV2nqXw7Zs4LmP9Te3', org: 'acme', kind: 'secret', user: 'ada' },
}

/**
 * The words of an operation's command: `tasks get {task} {run} --db {db}` is `tasks get` with the arguments TASK and RUN. An
 * argument that is called like the command's group is its NAME: `table drop NAME`. `more` ends the example.
 */
export const wordsOf = (
  id: RoutedOperationId,
  more = '',
): Pick<CliCommand, 'name' | 'summary' | 'example'> & { positionals: string[] } => {
  const operation = findOperation(id)!
  const words = operation.command!.split(/ \[?--/)[0]!.split(' ')
  const isFixed = (word: string): boolean => /^[a-z-]+$/.test(word)
  const shown = (word: string): string => (word === `{${words[0]}}` ? 'NAME' : word.replace(/[{}]/g, '').toUpperCase())
  return {
    name: words.filter(isFixed).join(' '),
    positionals: words.filter((word) => !isFixed(word)).map(shown),
    summary: summaryOf(operation),
    example: [shellLanguage.call({ operation: id, input: sampleNames }), more].filter(Boolean).join(' '),
  }
}

interface Differences {
  details?: string
  /** The end of the example. */
  example?: string
  flags?: Record<string, Flag>
  /** JSON text. */
  body?(args: Arguments): string | undefined
  /** The change may be sent twice. A read always may. */
  repeatable?: true
}

/**
 * A command that sends one request and prints the answer: for a table, a bucket, a task or a run. One that changes a run takes
 * several of them.
 */
export const verbCommand = (id: RoutedOperationId, differences: Differences = {}): CliCommand => {
  const { details, example: more, flags, body, repeatable = false } = differences
  const { route, area, effect } = findOperation(id)!
  const { name, positionals, summary, example } = wordsOf(id, more)
  const [, collection] = pathNames(route!.path)
  const addressOf = (args: Arguments): Record<string, string> => ({
    db: requireName(args, 'db'),
    [collection!]: checkName(args.positionals[0]!, positionals[0]!),
  })
  const isOfRuns = area === 'runs'
  const isRead = effect === 'reads'
  // The text of a task or a run has objects as they were sent; only a terminal needs escapes for them.
  const print = area === 'tables' || area === 'buckets' ? printLine : printObject
  return {
    name,
    positionals: isOfRuns && !isRead ? positionals.with(-1, `${positionals.at(-1)}...`) : positionals,
    summary,
    example,
    ...(details !== undefined && { details }),
    flags: { db: dbFlag, ...flags, ...remoteFlags },
    async run(args) {
      const addresses = isOfRuns
        ? args.positionals.slice(1).map((run) => ({ run: requireRunId(run, 'RUN'), ...addressOf(args) }))
        : [addressOf(args)]
      const text = body?.(args)
      const remote = openRemote(args)
      let exitCode = 0
      for (const address of addresses) {
        try {
          const call = { ...requestOf(id, address), body: text, repeatable: isRead || repeatable }
          await print(await remote.request(call))
        } catch (error) {
          if (!(error instanceof CubbyError && oneRunCodes.includes(error.code))) throw error
          printNote(`cubby: ${errorLine(error)}`)
          exitCode = 1
        }
      }
      return exitCode
    },
  }
}

// ── The lifecycle of tables, buckets and tasks ─────────────────────────────────────────────────────────────

type Kind = 'table' | 'bucket' | 'task'

const idOf = <Verb extends string>(verb: Verb, kind: Kind) =>
  `${verb}${kind[0]!.toUpperCase()}${kind.slice(1)}` as `${Verb}${Capitalize<Kind>}`

const printEach = async (pages: AsyncIterable<string[]>): Promise<void> => {
  for await (const entries of pages) for (const entry of entries) printLine(entry)
}

export const listCommand = (kind: Kind, details: string): CliCommand => {
  const id = `${idOf('list', kind)}s` as const
  return {
    ...wordsOf(id),
    details: `${details} --json prints what the API has of each.`,
    flags: {
      db: dbFlag,
      deleted: { type: 'boolean', help: `list the deleted ${kind}s that can still be restored` },
      ...remoteFlags,
      json: { ...jsonFlag, help: `print JSON, one ${kind} per line` },
    },
    async run(args) {
      const input = { db: requireName(args, 'db'), deleted: args.flag('deleted') || undefined }
      const pages = listPages(openRemote(args), id, `${kind}s`, input)
      const printJsonLines = kind === 'task' ? printObjects : printEach
      await (args.flag('json') ? printJsonLines : printCollections[kind])(pages)
      return 0
    },
  }
}

export const describeCommand = (kind: Kind): CliCommand => verbCommand(idOf('describe', kind))

const groupOf = (id: RoutedOperationId): string => wordsOf(id).name.split(' ')[0]!

/** `contents`: what is deleted with it. */
export const dropCommand = (kind: Kind, contents: string): CliCommand => {
  const id = idOf('delete', kind)
  return verbCommand(id, {
    details: `Restore it, with all its ${contents}, with cubby ${groupOf(id)} restore.`,
  })
}

export const restoreCommand = (kind: Kind, note = ''): CliCommand => {
  const id = idOf('restore', kind)
  return verbCommand(id, {
    details: `A ${kind} can be restored for 7 days after it was deleted.${note}`,
    flags: {
      'deleted-at': {
        type: 'string',
        value: 'MS',
        help: `its deletedAt in epoch milliseconds; default: the ${kind} deleted last`,
      },
    },
    body(args) {
      const deletedAt = args.text('deleted-at')
      if (deletedAt === undefined) return undefined
      if (/^[0-9]{1,16}$/.test(deletedAt)) return `{"deletedAt":${Number(deletedAt)}}`
      const listing = `cubby ${groupOf(id)} list --deleted --json`
      throw new UsageError(`--deleted-at is "${deletedAt}"; it takes epoch milliseconds, see ${listing}`)
    },
  })
}
