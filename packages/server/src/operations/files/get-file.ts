import { refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { defineOperation } from '../operation.ts'
import { type FileAddress, parseFileAddress, requireFile } from './file-access.ts'
import { presentFile } from './present-file.ts'

export const getFileOperation = defineOperation({
  id: 'getFile',
  area: 'files',
  summary: 'Get a file',
  description: 'A public key reads public files only. A file past its `ttl` does not exist.',
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'The record of the file.',
  codes: ['invalid_key', 'private_file', 'bucket_not_found', 'file_not_found'],
  parse(text): FileAddress {
    const { db, bucket, name, ...others } = parsePlainBody(text)
    const address = parseFileAddress(db, bucket, name)
    refuseUnknownMembers(others, [])
    return address
  },
  run: requireFile,
  present: presentFile,
})
