import type { CliCommand } from '../command.ts'
import { describeCommand, dropCommand, listCommand, restoreCommand, verbCommand } from '../verb-command.ts'

export const bucketCommands: CliCommand[] = [
  verbCommand('createBucket', { details: 'If the bucket exists, it is printed and not changed.', repeatable: true }),
  listCommand('bucket', 'The buckets of one database. URLs of files have the id of the bucket.'),
  describeCommand('bucket'),
  dropCommand('bucket', 'files'),
  restoreCommand('bucket'),
]
