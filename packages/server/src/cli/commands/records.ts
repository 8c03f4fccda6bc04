import { parseTtl } from '../../core/records/record-data.ts'
import { parseRecordKey, type RecordKey } from '../../core/records/record-key.ts'
import { slots } from '../../core/tables/indices.ts'
import { parseIsoDateTime } from '../../core/text/iso-date-time.ts'
import { getRecordOperation, recordNotFound } from '../../operations/records/get-record.ts'
import { putRecordOperation } from '../../operations/records/put-record.ts'
import { queryRecordsOperation } from '../../operations/records/query-records.ts'
import { openClock } from '../../process/clock.ts'
import { type Arguments, type CliCommand, orUsageError, printNote, summaryOf, UsageError } from '../command.ts'
import { openRemote, remoteFlags } from '../remote.ts'
import { dbFlag, requireName, tableFlag } from '../table-flags.ts'
import { minifyJson } from '../transfer/ndjson.ts'
import { queryPages } from '../transfer/pages.ts'
import { writeToStdout } from '../transfer/write-lines.ts'

// Records, for the shell. Data passes through as text: a number keeps all its digits.

const addressFlags = { db: dbFlag, table: tableFlag }

const requireRecordKey = (args: Arguments): RecordKey => {
  const [hashKey, rangeKey] = args.positionals
  return orUsageError(() => parseRecordKey(hashKey, rangeKey))
}

const print = async (text: string): Promise<void> => {
  const out = writeToStdout()
  await out.write(`${text}\n`)
  await out.end()
}

export const getCommand: CliCommand = {
  name: 'get',
  positionals: ['HASHKEY', '[RANGEKEY]'],
  summary: summaryOf(getRecordOperation),
  details: 'Printed with its data as it was put.',
  flags: { ...addressFlags, ...remoteFlags },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    const { hashKey, rangeKey } = requireRecordKey(args)
    // By query, since a key with a slash in it must not go into a path: proxies decode it.
    const query = { hash: JSON.stringify(hashKey), range: `{"eq":${JSON.stringify(rangeKey)}}` }
    for await (const { items } of queryPages(openRemote(args), db, table, query)) {
      if (items.length === 0) continue
      await print(items[0]!)
      return 0
    }
    throw recordNotFound({ hashKey, rangeKey })
  },
}

export const putCommand: CliCommand = {
  name: 'put',
  positionals: ['HASHKEY', '[RANGEKEY]'],
  summary: summaryOf(putRecordOperation),
  details:
    'Prints the record.\nThe data is a JSON object, from --data or from standard input, and is kept exactly as it is written.',
  flags: {
    ...addressFlags,
    data: { type: 'string', value: 'JSON', help: 'the data; standard input if it is not given' },
    ttl: { type: 'string', value: 'TIME', help: 'when it expires: epoch seconds or an ISO-8601 date-time' },
    'if-match': { type: 'string', value: 'VERSION', help: 'only if its updatedAt is this; * if it exists at all' },
    'if-absent': { type: 'boolean', help: 'only if there is none yet' },
    ...remoteFlags,
  },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    const { hashKey, rangeKey } = requireRecordKey(args)
    const headers = parseConditions(args)
    const ttl = parseTtlFlag(args.text('ttl'), openClock(process.env).now())
    const remote = openRemote(args)
    // CUBBY_DATA is the data directory of other commands, never the data of a record.
    const given = args.isGiven('data') ? args.text('data') : undefined
    const data = checkData(given ?? (await readStdin()))
    const members = [`"hashKey":${JSON.stringify(hashKey)}`, `"rangeKey":${JSON.stringify(rangeKey)}`, `"data":${data}`]
    if (ttl !== undefined) members.push(`"ttl":${ttl}`)
    const body = `{${members.join(',')}}`
    await print(await remote.request({ method: 'PUT', path: `/v1/${db}/${table}`, body, headers, repeatable: false }))
    return 0
  },
}

const parseConditions = (args: Arguments): Record<string, string> => {
  const ifMatch = args.text('if-match')
  if (ifMatch === undefined) return args.flag('if-absent') ? { 'if-none-match': '*' } : {}
  if (args.flag('if-absent')) throw new UsageError('--if-match and --if-absent exclude each other')
  if (ifMatch === '*') return { 'if-match': '*' }
  if (/^[0-9]+$/.test(ifMatch)) return { 'if-match': `"${ifMatch}"` }
  throw new UsageError(`--if-match is "${ifMatch}"; it takes a record's updatedAt, or *`)
}

const parseTtlFlag = (text: string | undefined, nowMs: number): number | undefined => {
  if (text === undefined) return undefined
  const instant = parseIsoDateTime(text)
  const seconds = instant === undefined ? undefined : Math.ceil(instant / 1000)
  if (seconds !== undefined || /^[0-9]{1,15}$/.test(text)) {
    return orUsageError(() => parseTtl(seconds ?? Number(text), '--ttl', nowMs)) ?? undefined
  }
  throw new UsageError(`--ttl is "${text}"; it takes epoch seconds or an ISO-8601 date-time`)
}

const readStdin = async (): Promise<string> => {
  if (process.stdin.isTTY === true) throw new UsageError('--data JSON is missing')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await Bun.stdin.bytes())
  } catch {
    throw new UsageError('the data on standard input is not valid UTF-8')
  }
}

/** Checked before it stands in the body, where a stray brace would change what the body says. */
const checkData = (text: string): string => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = (error as Error).message.replace(/^JSON Parse error: /, '')
    throw new UsageError(text.trim() === '' ? 'the data is empty' : `the data is not JSON: ${reason}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text.trim()
  throw new UsageError('the data is not a JSON object; wrap it: {"value":…}')
}

/** Flag, operator of the API, words. */
const operators = [
  ['eq', 'eq', 'equal to'],
  ['lt', 'lt', 'less than'],
  ['lte', 'lte', 'less than or equal to'],
  ['gt', 'gt', 'greater than'],
  ['gte', 'gte', 'greater than or equal to'],
  ['begins-with', 'beginsWith', 'that begins with'],
] as const

export const queryCommand: CliCommand = {
  name: 'query',
  summary: summaryOf(queryRecordsOperation),
  details: `Prints one record a line.
Without --index by primary key: --hash is the hash key. --index t is by time of the last write, newest first;
--index i1 to i5 are the declared ones. Keys are taken as they stand. Values of a declared index are numbers,
true, false, or strings; a string that looks like one of the former is put in quotes: --hash '"5"'.
--gte with --lte is the range between them. White space outside strings is left out.`,
  flags: {
    ...addressFlags,
    index: { type: 'string', value: 'INDEX', help: 't, or a declared one: i1 to i5' },
    hash: { type: 'string', value: 'VALUE', help: 'the hash key, or the value of the hash field' },
    ...Object.fromEntries(
      operators.map(
        ([flag, , words]) => [flag, { type: 'string', value: 'VALUE', help: `a range ${words} this` }] as const,
      ),
    ),
    ascending: { type: 'boolean', help: 'in rising order' },
    descending: { type: 'boolean', help: 'in falling order' },
    limit: { type: 'string', value: 'N', help: 'records of a page: 100, at most 1000' },
    all: { type: 'boolean', help: 'all pages, not only the first' },
    cursor: { type: 'string', value: 'CURSOR', help: 'go on behind an earlier page' },
    page: { type: 'boolean', help: 'print the page as answered: {"items":[…],"count":…,"cursor":…}' },
    ...remoteFlags,
  },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    if (args.flag('page') && args.flag('all')) throw new UsageError('--page and --all exclude each other')
    const query = parseQuery(args)
    const out = writeToStdout()
    for await (const { text, items, cursor } of queryPages(openRemote(args), db, table, query)) {
      if (args.flag('page')) await out.write(`${minifyJson(text)}\n`)
      else for (const item of items) await out.write(`${minifyJson(item)}\n`)
      if (args.flag('all')) continue
      await out.end()
      // To standard error, so that the lines are records only; silence would look like the end.
      if (cursor !== null && !args.flag('page')) {
        printNote(`there is more: add --all, or --cursor ${cursor}`)
      }
      return 0
    }
    await out.end()
    return 0
  },
}

/** The members of the body as JSON texts. */
const parseQuery = (args: Arguments): Record<string, string> => {
  const index = args.text('index')
  if (index !== undefined && index !== 't' && !slots.includes(index as never)) {
    throw new UsageError(`--index is "${index}"; it takes t or i1 to i5`)
  }
  const hash = args.text('hash')
  if (hash === undefined && index !== 't') throw new UsageError('--hash VALUE is missing')
  const valueText = index === undefined ? JSON.stringify : indexValueText
  const query: Record<string, string> = {}
  if (index !== undefined) query.index = `"${index}"`
  if (hash !== undefined) query.hash = valueText(hash)
  const range = parseRange(args, valueText)
  if (range !== undefined) query.range = range
  if (args.flag('ascending') && args.flag('descending')) {
    throw new UsageError('--ascending and --descending exclude each other')
  }
  if (args.flag('ascending') || args.flag('descending')) query.ascending = String(args.flag('ascending'))
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
    // A prefix is text, whatever it looks like.
    return value === undefined ? [] : [[operator, flag === 'begins-with' ? JSON.stringify(value) : valueText(value)]]
  })
  if (given.length === 0) return undefined
  if (given.length === 1) return `{"${given[0]![0]}":${given[0]![1]}}`
  const { gte, lte, ...others } = Object.fromEntries(given) as Record<string, string>
  if (gte !== undefined && lte !== undefined && Object.keys(others).length === 0) return `{"between":[${gte},${lte}]}`
  throw new UsageError('a range takes one operator, or --gte together with --lte')
}

const scalar = /^(?:true|false|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/

/** What is written as JSON writes a number, a boolean or a string is that; everything else is a string as it stands. */
const indexValueText = (value: string): string => {
  if (scalar.test(value)) return value
  if (value.startsWith('"')) {
    try {
      if (typeof JSON.parse(value) === 'string') return value
    } catch {
      // A lone quote is part of the value.
    }
  }
  return JSON.stringify(value)
}
