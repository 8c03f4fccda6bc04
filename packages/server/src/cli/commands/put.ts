import { openClock } from '../../process/clock.ts'
import { UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { dbFlag, ifMatchFlag, requireName, requireRecordKey, tableFlag } from '../target/address.ts'
import { checkObject, readStdin } from '../target/json-object.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'
import { ifAbsentFlag, parseConditions, parseTtlFlag, ttlFlag } from '../target/write-flags.ts'
import { writeTextToStdout } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

export const putCommand: CliCommand = {
  ...wordsOf('putRecord', `--data '{"status":"open"}'`),
  details: `Prints the record. The data is a JSON object, from --data or from standard input. It is stored exactly as
given.`,
  flags: {
    db: dbFlag,
    table: tableFlag,
    data: { type: 'string', value: 'JSON', help: 'the data; default: standard input' },
    ttl: ttlFlag('record'),
    'if-match': ifMatchFlag,
    'if-absent': ifAbsentFlag('record'),
    ...remoteFlags,
  },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    const { hashKey, rangeKey } = requireRecordKey(args)
    const headers = parseConditions(args)
    const ttl = parseTtlFlag(args, openClock(process.env).now())
    const remote = openRemote(args)
    // CUBBY_DATA is the data directory of other commands, never the data of a record.
    const given = args.isGiven('data') ? args.text('data') : undefined
    if (given === undefined && process.stdin.isTTY === true) throw new UsageError('--data JSON is missing')
    const data = checkObject(given ?? (await readStdin('the data')), 'the data')
    const members = [`"hashKey":${JSON.stringify(hashKey)}`, `"rangeKey":${JSON.stringify(rangeKey)}`, `"data":${data}`]
    if (ttl !== undefined) members.push(`"ttl":${ttl}`)
    const body = `{${members.join(',')}}`
    await writeTextToStdout(
      await remote.request({ method: 'PUT', path: `/v1/${db}/${table}`, body, headers, repeatable: false }),
    )
    return 0
  },
}
