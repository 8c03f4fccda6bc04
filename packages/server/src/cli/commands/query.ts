import { selections } from '../../core/records/query.ts'
import { slots } from '../../core/tables/indices.ts'
import { type Arguments, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printLine, printNote } from '../print.ts'
import { dbFlag, requireName, tableFlag } from '../target/address.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'
import { minifyJson } from '../transfer/ndjson.ts'
import { type PageText, queryPage, queryPages } from '../transfer/pages.ts'
import { writeToStdout } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

/** Flag, operator of the API, and the words for help. */
const operators = [
  ['eq', 'eq', 'equal to'],
  ['lt', 'lt', 'less than'],
  ['lte', 'lte', 'less than or equal to'],
  ['gt', 'gt', 'greater than'],
  ['gte', 'gte', 'greater than or equal to'],
  ['begins-with', 'beginsWith', 'that begins with'],
] as const

export const queryCommand: CliCommand = {
  ...wordsOf('queryRecords', '--index i1 --hash open --gte 2026-01-01T00:00:00Z'),
  details: `Prints one record per line. --select keys leaves out their data; --select count prints how many there are.
Without --index the query is by primary key: --hash is the hash key. --index t is by time of the last write,
newest first; --index i1 to i5 are the declared indices. Keys are used literally. Values of a declared
index are numbers, true, false or strings; quote a string that looks like one of the others: --hash '"5"'.
--gt or --gte can be combined with --lt or --lte. The output has no white space outside strings.`,
  flags: {
    db: dbFlag,
    table: tableFlag,
    index: { type: 'string', value: 'INDEX', help: 't, or a declared index: i1 to i5' },
    hash: { type: 'string', value: 'VALUE', help: 'the hash key, or the value of the hash field' },
    ...Object.fromEntries(
      operators.map(
        ([flag, , words]) => [flag, { type: 'string', value: 'VALUE', help: `a range ${words} this` }] as const,
      ),
    ),
    ascending: { type: 'boolean', help: 'in ascending order' },
    descending: { type: 'boolean', help: 'in descending order' },
    select: { type: 'string', value: 'PART', help: 'data, keys or count (data)' },
    limit: { type: 'string', value: 'N', help: 'records per page, at most 1000 (100); with count: count to N at most' },
    all: { type: 'boolean', help: 'all pages, not only the first' },
    cursor: { type: 'string', value: 'CURSOR', help: 'continue after an earlier page' },
    page: { type: 'boolean', help: 'print the whole answer: {"items":[…],"count":…,"cursor":…}' },
    ...remoteFlags,
  },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    if (args.flag('page') && args.flag('all')) throw new UsageError('--page and --all cannot be combined')
    const query = parseQuery(args)
    const remote = openRemote(args)
    if (query.select === '"count"' && !args.flag('page')) {
      if (args.flag('all')) delete query.limit
      return printCount((more) => queryPage(remote, db, table, { ...query, ...more }), query.limit)
    }
    const out = writeToStdout()
    for await (const { text, items, cursor } of queryPages(remote, db, table, query)) {
      if (args.flag('page')) await out.write(`${minifyJson(text)}\n`)
      else for (const item of items) await out.write(`${minifyJson(item)}\n`)
      if (args.flag('all')) continue
      await out.end()
      // The note is on standard error: the output is records only. Without it the page would look like the last.
      if (cursor !== null && !args.flag('page')) noteMore(cursor)
      return 0
    }
    await out.end()
    return 0
  },
}

const noteMore = (cursor: string): void => printNote(`there is more: add --all, or --cursor ${cursor}`)

/**
 * One number. It counts to the end, or to the limit: a script must not take a part for the whole. The server may count less
 * than the limit in one answer, so the next one is asked for the rest.
 */
const printCount = async (
  ask: (more: Record<string, string>) => Promise<PageText>,
  limit: string | undefined,
): Promise<number> => {
  let total = 0
  let more: Record<string, string> = {}
  for (;;) {
    const { count, cursor } = await ask(more)
    total += count
    const rest = Number(limit ?? Number.POSITIVE_INFINITY) - total
    if (cursor === null || rest <= 0) {
      printLine(String(total))
      if (cursor !== null) noteMore(cursor)
      return 0
    }
    more = { cursor: JSON.stringify(cursor), ...(limit !== undefined && { limit: String(rest) }) }
  }
}

/** The members of the body as JSON texts. */
const parseQuery = (args: Arguments): Record<string, string> => {
  const index = args.text('index')
  if (index !== undefined && index !== 't' && !slots.includes(index as never)) {
    throw new UsageError(`--index is "${index}"; it takes t or i1 to i5`)
  }
  const hash = args.text('hash')
  if (hash === undefined && index !== 't') throw new UsageError('--hash VALUE is missing')
  if (hash !== undefined && index === 't') {
    throw new UsageError('--hash and --index t cannot be combined: t covers the whole table')
  }
  if (args.text('begins-with') !== undefined && index === 't') {
    throw new UsageError('--begins-with is for strings, and t is a time; use --gte or --lt')
  }
  const valueText = index === undefined ? JSON.stringify : indexValueText
  const query: Record<string, string> = {}
  if (index !== undefined) query.index = `"${index}"`
  if (hash !== undefined) query.hash = valueText(hash)
  const range = parseRange(args, valueText)
  if (range !== undefined) query.range = range
  if (args.flag('ascending') && args.flag('descending')) {
    throw new UsageError('--ascending and --descending cannot be combined')
  }
  if (args.flag('ascending') || args.flag('descending')) query.ascending = String(args.flag('ascending'))
  const select = args.text('select')
  if (select !== undefined && !selections.includes(select as never)) {
    throw new UsageError(`--select is "${select}"; it takes data, keys or count`)
  }
  if (select !== undefined) query.select = `"${select}"`
  const limit = args.text('limit')
  if (limit !== undefined && !/^[1-9][0-9]{0,8}$/.test(limit)) {
    throw new UsageError(`--limit is "${limit}"; it takes an integer of at least 1`)
  }
  if (limit !== undefined) query.limit = limit
  const cursor = args.text('cursor')
  if (cursor !== undefined) query.cursor = JSON.stringify(cursor)
  return query
}

const parseRange = (args: Arguments, valueText: (value: string) => string): string | undefined => {
  const given = operators.flatMap(([flag, operator]) => {
    const value = args.text(flag)
    // A prefix is always a string.
    return value === undefined ? [] : [[operator, flag === 'begins-with' ? JSON.stringify(value) : valueText(value)]]
  })
  if (given.length === 0) return undefined
  const names = given.map(([operator]) => operator)
  const isPair =
    names.length === 2 && names.some((name) => /^gte?$/.test(name!)) && names.some((name) => /^lte?$/.test(name!))
  if (names.length > 1 && !isPair) {
    throw new UsageError('a range takes one operator, or --gt or --gte together with --lt or --lte')
  }
  return `{${given.map(([operator, text]) => `"${operator}":${text}`).join(',')}}`
}

const scalar = /^(?:true|false|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/

/** JSON of a number, a boolean or a string is used as it is; everything else is a string. */
const indexValueText = (value: string): string => {
  if (scalar.test(value)) return value
  if (value.startsWith('"')) {
    try {
      if (typeof JSON.parse(value) === 'string') return value
    } catch {
      // An unmatched quote is part of the value.
    }
  }
  return JSON.stringify(value)
}
