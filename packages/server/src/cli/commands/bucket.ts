import { createBucketOperation } from '../../operations/buckets/create-bucket.ts'
import { deleteBucketOperation } from '../../operations/buckets/delete-bucket.ts'
import { describeBucketOperation } from '../../operations/buckets/describe-bucket.ts'
import { listBucketsOperation } from '../../operations/buckets/list-buckets.ts'
import { restoreBucketOperation } from '../../operations/buckets/restore-bucket.ts'
import type { Arguments } from '../arguments.ts'
import { type CliCommand, summaryOf } from '../command.ts'
import { checkName, dbFlag, requireName } from '../target/address.ts'
import { deletedAtFlag, printAnswer, printListing, restoreBody } from '../target/lifecycle.ts'
import { remoteFlags } from '../target/remote.ts'

// The bucket routes of the HTTP API, for the shell. The server's answer is printed unchanged.

const bucketPath = (args: Arguments): string =>
  `/v1/${requireName(args, 'db')}/_buckets/${checkName(args.positionals[0]!, 'NAME')}`

export const bucketCreateCommand: CliCommand = {
  name: 'bucket create',
  positionals: ['NAME'],
  summary: summaryOf(createBucketOperation),
  details: 'If the bucket exists, it is printed and not changed.',
  flags: { db: dbFlag, ...remoteFlags },
  run: async (args) => printAnswer(args, { method: 'POST', path: bucketPath(args), repeatable: true }),
}

export const bucketListCommand: CliCommand = {
  name: 'bucket list',
  summary: summaryOf(listBucketsOperation),
  details: 'The buckets of one database, one per line.',
  flags: {
    db: dbFlag,
    deleted: { type: 'boolean', help: 'list the deleted buckets that can still be restored' },
    ...remoteFlags,
  },
  run: async (args) => printListing(args, `/v1/${requireName(args, 'db')}/_buckets`, 'buckets'),
}

export const bucketDescribeCommand: CliCommand = {
  name: 'bucket describe',
  positionals: ['NAME'],
  summary: summaryOf(describeBucketOperation),
  flags: { db: dbFlag, ...remoteFlags },
  run: async (args) => printAnswer(args, { method: 'GET', path: bucketPath(args), repeatable: true }),
}

export const bucketDropCommand: CliCommand = {
  name: 'bucket drop',
  positionals: ['NAME'],
  summary: summaryOf(deleteBucketOperation),
  details: 'Restore it, with all its files, with cubby bucket restore.',
  flags: { db: dbFlag, ...remoteFlags },
  run: async (args) => printAnswer(args, { method: 'DELETE', path: bucketPath(args), repeatable: false }),
}

export const bucketRestoreCommand: CliCommand = {
  name: 'bucket restore',
  positionals: ['NAME'],
  summary: summaryOf(restoreBucketOperation),
  details: 'A bucket can be restored for 7 days after it was deleted.',
  flags: { db: dbFlag, 'deleted-at': deletedAtFlag('bucket'), ...remoteFlags },
  async run(args) {
    const path = `${bucketPath(args)}/restore`
    const body = restoreBody(args, 'cubby bucket list --deleted')
    return printAnswer(args, { method: 'POST', path, body, repeatable: false })
  },
}
