import { describeValue } from '../../core/describe-value.ts'
import { CubbyError } from '../../core/errors.ts'
import { loadCommitLinesMax, loadErrorsMax, loadLineBytesMax } from '../../core/limits.ts'
import { parseFlag, refuseUnknownMembers } from '../../core/members.ts'
import { splitLines } from '../../core/text/lines.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { type Access, parseAddress } from '../access.ts'
import { inOrders } from '../example.ts'
import { requireTable } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { binaryBytes, closed, inputOf, ref } from '../schema.ts'
import { addressMembers, addressRequired } from '../tables/schemas.ts'
import { type LoadOptions, type LoadOutput, RecordLoad } from './record-load.ts'

export const parseOnError = (value: unknown): LoadOptions['onError'] => {
  if (value === undefined || value === 'stop' || value === 'skip') return value ?? 'stop'
  throw new CubbyError('invalid_request', `onError is ${describeValue(value)}; it takes stop or skip.`, {
    field: 'onError',
    hint: 'stop: the first refused line ends the load. skip: refused lines are left out.',
  })
}

interface LoadRecordsInput extends LoadOptions {
  /** All lines. */
  lines: string
}

const parseInput = (text: string): LoadRecordsInput => {
  const { db, table, ...members } = parsePlainBody(text)
  const address = parseAddress(db, table)
  refuseUnknownMembers(members, ['lines', 'onError', 'ifAbsent'])
  const { lines, onError, ifAbsent } = members
  if (typeof lines !== 'string') {
    throw new CubbyError('invalid_request', `lines is ${describeValue(lines)}; it takes a text.`, { field: 'lines' })
  }
  return { ...address, lines, onError: parseOnError(onError), ifAbsent: parseFlag(ifAbsent, 'ifAbsent') }
}

/** For callers that have all lines as one text. */
const loadRecords = async (access: Access, { lines, ...options }: LoadRecordsInput, nowMs: number) => {
  const table = await requireTable(access, options, nowMs)
  const nothing = (): void => {}
  const sender = {
    access,
    authenticate: nothing,
    now: () => nowMs,
    turn: async () => {},
    fault: undefined,
    cut: nothing,
  }
  const bytes = async function* () {
    yield Buffer.from(lines)
  }
  return new RecordLoad(options, table, sender).run(splitLines(bytes(), loadLineBytesMax))
}

const twoLines = `{"hashKey":"ada","rangeKey":"o-7","data":{"status":"open"}}
{"hashKey":"bob","rangeKey":"o-8","data":{"status":"open","total":12.5}}
`
const wrongLine = `{"hashKey":"ada","rangeKey":"o-7","data":{"status":"open"}}
{"hashKey":"bob","rangeKey":"o-8","data":{"status":null}}
{"hashKey":"cal","rangeKey":"o-9","data":{"status":"open"}}
`

const secondLineRefused = {
  line: 2,
  code: 'invalid_index_value',
  message: 'data.status is null; index i1 takes a string, number or boolean.',
  field: 'data.status',
}

const recordsOf = (lines: string): unknown[] =>
  lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

export const loadRecordsOperation = defineOperation({
  id: 'loadRecords',
  area: 'records',
  summary: 'Load records: any number of puts, one in a line',
  keyNeeded: 'write',
  grants: 'none',
  effect: 'destroys',
  route: {
    method: 'POST',
    path: '/v1/:db/:table/load',
    query: ['onError', 'ifAbsent'],
    bytes: 'lines',
    bytesType: 'application/x-ndjson',
  },
  command: 'import FILE --db {db} --table {table}',
  parse: parseInput,
  run: loadRecords,
  present: (output: LoadOutput) => JSON.stringify(output),
  describe: () => ({
    title: 'Load records',
    description: `Puts the record of each line, in the order of the lines: \`{"hashKey":…,"rangeKey":…,"data":{…},"ttl":…}\`. Blank lines are passed over. A load is not atomic: lines are stored in commits of at most ${loadCommitLinesMax.toLocaleString('en-US')}, so at any time the lines that are stored are the first ones, and the same load again leaves the same records. The first line that is refused ends the load, or with \`onError=skip\` it is left out; either way the answer is 200 and names the lines that were refused. With \`ifAbsent=true\` records that exist are left as they are.\n\nAPI key and table are judged again for every commit. What ends a load and is no fault of a line is answered with its own error, whose \`count\` says how many lines are stored.`,
    returns: 'What was done with the lines.',
    codes: ['table_not_found', 'unsupported_media_type'],
    tag: 'Queries and batches',
    note: `The body is lines of JSON of at most ${binaryBytes(loadLineBytesMax)} each, with a \`Content-Length\` or chunked, as \`application/x-ndjson\` or without a content type; with \`Content-Encoding: gzip\` it is unpacked. It may be of any length and is stored as it arrives. What the head of the request decides is answered without waiting for the body.`,
    input: closed(
      inputOf(
        {},
        {
          ...addressMembers,
          onError: {
            type: 'string',
            enum: ['stop', 'skip'],
            default: 'stop',
            description: 'What the first refused line does: it ends the load, or it is left out.',
          },
          ifAbsent: { type: 'boolean', default: false, description: 'Leave records that exist as they are.' },
          lines: { type: 'string', description: 'The lines, each with one put as JSON.' },
        },
        [...addressRequired, 'lines'],
      ),
    ),
    output: ref('LoadResponse'),
    client: {
      on: 'table',
      method: 'load',
      result: 'loaded',
      // Our client throws when a line stops the load.
      args: ({ lines, ...options }) =>
        lines === wrongLine && options.onError === undefined ? undefined : [recordsOf(lines as string), options],
    },
    examples: [
      {
        name: 'two',
        summary: 'Two records',
        input: { ...inOrders, lines: twoLines },
        output: { count: 2, skipped: 0, failed: 0, errors: [] },
      },
      {
        name: 'absent',
        summary: 'Only records that do not exist yet',
        given: [{ operation: 'loadRecords', input: { ...inOrders, lines: twoLines } }],
        input: { ...inOrders, ifAbsent: true, lines: twoLines },
        output: { count: 0, skipped: 2, failed: 0, errors: [] },
      },
      {
        name: 'stopped',
        summary: 'A line that is refused ends the load',
        input: { ...inOrders, lines: wrongLine },
        output: {
          count: 1,
          skipped: 0,
          failed: 1,
          errors: [secondLineRefused],
        },
      },
      {
        name: 'skipped',
        summary: `Lines that are refused are left out; the first ${loadErrorsMax} are named`,
        input: { ...inOrders, onError: 'skip', lines: wrongLine },
        output: {
          count: 2,
          skipped: 0,
          failed: 1,
          errors: [secondLineRefused],
        },
      },
    ],
  }),
})
