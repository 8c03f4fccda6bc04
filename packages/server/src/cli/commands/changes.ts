import { selectRule } from '../../core/changes/changes-request.ts'
import { waitSecondsMax } from '../../core/limits.ts'
import { type Arguments, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printNote } from '../print.ts'
import { dbFlag, requireName, tableFlag } from '../target/address.ts'
import { openRemote, remoteFlags, requestOf } from '../target/remote.ts'
import { minifyJson } from '../transfer/ndjson.ts'
import { memberTexts, splitPage } from '../transfer/pages.ts'
import { writeToStdout } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

export const changesCommand: CliCommand = {
  ...wordsOf('readChanges', '--follow'),
  details: `First every live record once, by key, then what has changed since; --from now leaves the records out. Without
--follow it ends when it has read all that there is, and names the cursor from which --cursor goes on. A line
has the kind of the change, the keys, and of a put its data; with --json it is what the API has of the change.
The table must keep its changes: see cubby table changes.`,
  flags: {
    db: dbFlag,
    table: tableFlag,
    from: { type: 'string', value: 'PLACE', help: 'start or now (start)' },
    cursor: { type: 'string', value: 'CURSOR', help: 'go on after an earlier change' },
    hash: { type: 'string', value: 'KEY', help: 'only the records with this hash key' },
    select: { type: 'string', value: 'PART', help: 'data or keys (data)' },
    follow: { type: 'boolean', help: 'wait for further changes, until Ctrl-C' },
    json: { type: 'boolean', help: 'print JSON, one change per line' },
    ...remoteFlags,
  },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    const request = parseRequest(args)
    const follows = args.flag('follow')
    const remote = openRemote(args, follows ? Number.POSITIVE_INFINITY : undefined)
    const out = writeToStdout()
    const show = args.flag('json') ? minifyJson : shownChange
    for (let place: Record<string, unknown> = {}; ; ) {
      const body = JSON.stringify({ ...request, ...place, waitSeconds: follows ? waitSecondsMax : 0 })
      const text = await remote.request({ ...requestOf('readChanges', { db, table }), body, repeatable: true })
      const { items, cursor } = splitPage(text)
      for (const item of items) await out.write(`${show(item)}\n`)
      // Who follows sees each change when it comes.
      await out.end()
      place = { cursor, from: undefined }
      if (follows || memberTexts(text).get('more') === 'true') continue
      printNote(`to go on from here: --cursor ${cursor}`)
      return 0
    }
  },
}

const parseRequest = (args: Arguments): Record<string, unknown> => {
  const [from, cursor, select] = [args.text('from'), args.text('cursor'), args.text('select')]
  if (from !== undefined && cursor !== undefined) throw new UsageError('--from and --cursor cannot be combined')
  if (from !== undefined && from !== 'start' && from !== 'now') {
    throw new UsageError(`--from is "${from}"; it takes start or now`)
  }
  if (select !== undefined && !(selectRule.enum as readonly string[]).includes(select)) {
    throw new UsageError(`--select is "${select}"; it takes data or keys`)
  }
  return { from, cursor, hash: args.text('hash'), select }
}

/** `put "ada" "o-1" {"status":"open"}`. */
const shownChange = (item: string): string => {
  const texts = memberTexts(item)
  const op = texts.has('expired') ? 'expired' : JSON.parse(texts.get('op')!)
  const words = [op, texts.get('hashKey'), texts.get('rangeKey')]
  const data = texts.get('data')
  if (data !== undefined) words.push(minifyJson(data))
  return words.filter((word) => word !== undefined).join(' ')
}
