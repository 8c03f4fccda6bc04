import { join } from 'node:path'
import type { StoreLocation } from '../engines/open-engine.ts'
import { type Arguments, type Flag, givenAs, UsageError } from './arguments.ts'

export const filesFlag: Flag = {
  type: 'string',
  value: 'PLACE',
  help: 'where the bytes of files are: a directory (default: files in --data) or s3://BUCKET/PREFIX',
}

/**
 * The place of the bytes of files, and whether it is the default. The default is beside the embedded store; a store on a
 * database server may have many processes on many machines, so there the operator has to say it.
 */
export const parseFilesPlace = (
  args: Arguments,
  { data, store }: StoreLocation,
): { place: string; isDefault: boolean } | undefined => {
  const given = args.text('files')
  if (given === undefined) return store === undefined ? { place: join(data, 'files'), isDefault: true } : undefined
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(given)?.[1]
  // The rest is not repeated: a URL may contain a password.
  const wrong =
    given === '' ? 'is empty' : scheme === undefined || /^s3$/i.test(scheme) ? undefined : `begins with ${scheme}://`
  if (wrong === undefined) return { place: given, isDefault: false }
  throw new UsageError(`${givenAs(args, 'files')} ${wrong}; it takes a directory or s3://BUCKET/PREFIX`)
}
