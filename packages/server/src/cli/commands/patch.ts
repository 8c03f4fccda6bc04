import { openClock } from '../../process/clock.ts'
import { UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { dbFlag, ifMatchFlag, requireName, requireRecordKey, tableFlag } from '../target/address.ts'
import { checkObject } from '../target/json-object.ts'
import { openRemote, remoteFlags } from '../target/remote.ts'
import { ifAbsentFlag, parseConditions, parseTtlFlag, ttlFlag } from '../target/write-flags.ts'
import { writeTextToStdout } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

const changes = ['merge', 'increment', 'append'] as const

export const patchCommand: CliCommand = {
  ...wordsOf('patchRecord', `--increment '{"/total":1}'`),
  details: `Prints the record. What is not named stays as it is, and a record that does not exist is created.
--increment and --append name places by JSON Pointer, such as /total or /lines/0/count.`,
  flags: {
    db: dbFlag,
    table: tableFlag,
    merge: { type: 'string', value: 'JSON', help: 'an object to merge into the data; null removes a field' },
    increment: { type: 'string', value: 'JSON', help: 'numbers to add: {"/total":1}' },
    append: { type: 'string', value: 'JSON', help: 'values to append to arrays: {"/tags":["new"]}' },
    ttl: ttlFlag('record'),
    'no-ttl': { type: 'boolean', help: 'the record does not expire any more' },
    'if-match': ifMatchFlag,
    'if-absent': ifAbsentFlag('record'),
    ...remoteFlags,
  },
  async run(args) {
    const [db, table] = [requireName(args, 'db'), requireName(args, 'table')]
    const { hashKey, rangeKey } = requireRecordKey(args)
    const headers = parseConditions(args)
    const ttl = parseTtlFlag(args, openClock(process.env).now())
    const noTtl = args.flag('no-ttl')
    if (noTtl && ttl !== undefined) throw new UsageError('--ttl and --no-ttl cannot be combined')
    const remote = openRemote(args)
    const members = [`"hashKey":${JSON.stringify(hashKey)}`, `"rangeKey":${JSON.stringify(rangeKey)}`]
    for (const name of changes) {
      const text = args.text(name)
      if (text !== undefined) members.push(`"${name}":${checkObject(text, `--${name}`)}`)
    }
    if (ttl !== undefined || noTtl) members.push(`"ttl":${ttl ?? null}`)
    if (members.length === 2) throw new UsageError('--merge, --increment, --append, --ttl or --no-ttl is missing')
    const body = `{${members.join(',')}}`
    await writeTextToStdout(
      await remote.request({ method: 'PATCH', path: `/v1/${db}/${table}`, body, headers, repeatable: false }),
    )
    return 0
  },
}
