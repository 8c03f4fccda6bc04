import { CubbyError } from '../../core/errors.ts'
import { noRangeKey, type RecordKey } from '../../core/records/record-key.ts'
import type { TableAddress } from '../../operations/access.ts'
import { preconditionFailed } from '../../operations/records/condition.ts'
import type { CliCommand } from '../command.ts'
import {
  dbFlag,
  ifMatchFlag,
  ifMatchHeader,
  parseIfMatch,
  requireName,
  requireRecordKey,
  tableFlag,
} from '../target/address.ts'
import { openRemote, type Remote, remoteFlags, requestOf } from '../target/remote.ts'
import { memberTexts, queryKey } from '../transfer/pages.ts'
import { writeTextToStdout } from '../transfer/write-lines.ts'
import { wordsOf } from '../verb-command.ts'

export const deleteCommand: CliCommand = {
  ...wordsOf('deleteRecord'),
  details: `Prints {"deleted":true}, or {"deleted":false} if there was no such record; the exit code is 0 in both cases.`,
  flags: { db: dbFlag, table: tableFlag, 'if-match': ifMatchFlag, ...remoteFlags },
  async run(args) {
    const address = { db: requireName(args, 'db'), table: requireName(args, 'table') }
    const key = requireRecordKey(args)
    const ifMatch = parseIfMatch(args)
    const remote = openRemote(args)
    const text = hasPathUnsafe.test(key.hashKey + key.rangeKey)
      ? await deleteByBatch(remote, address, key, ifMatch)
      : await deleteByPath(remote, address, key, ifMatch)
    await writeTextToStdout(text)
    return 0
  },
}

/** Proxies decode these in a path or reject them: `a/b` would become the record with hash key `a` and range key `b`. */
const hasPathUnsafe = /[/\\\0]/

const deleteByPath = (
  remote: Remote,
  { db, table }: TableAddress,
  { hashKey, rangeKey }: RecordKey,
  ifMatch: string | undefined,
): Promise<string> => {
  const headers = ifMatch === undefined ? undefined : ifMatchHeader(ifMatch)
  const key = { hashKey, rangeKey: rangeKey === noRangeKey ? undefined : rangeKey }
  return remote.request({ ...requestOf('deleteRecord', { db, table, ...key }), headers, repeatable: false })
}

/** A batch does not say whether the record existed. So this reads its version, then deletes that version. */
const deleteByBatch = async (
  remote: Remote,
  address: TableAddress,
  key: RecordKey,
  ifMatch: string | undefined,
): Promise<string> => {
  const wanted = ifMatch === '*' ? undefined : ifMatch
  for (;;) {
    const found = wanted ?? (await versionOf(remote, address, key))
    if (found === undefined) {
      if (ifMatch === '*') throw preconditionFailed(undefined)
      return '{"deleted":false}'
    }
    const { hashKey, rangeKey } = key
    const operation = `{"op":"delete",${JSON.stringify({ hashKey, rangeKey }).slice(1, -1)},"ifUpdatedAt":${found}}`
    const body = `{"operations":[${operation}]}`
    try {
      await remote.request({ ...requestOf('applyBatch', address), body, repeatable: false })
      return '{"deleted":true}'
    } catch (error) {
      // Someone wrote or deleted it in between: read again.
      if (wanted !== undefined || !(error instanceof CubbyError && error.code === 'precondition_failed')) throw error
    }
  }
}

const versionOf = async (remote: Remote, { db, table }: TableAddress, key: RecordKey): Promise<string | undefined> => {
  const record = await queryKey(remote, db, table, key)
  return record === undefined ? undefined : memberTexts(record).get('updatedAt')
}
