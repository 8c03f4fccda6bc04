import { CubbyError } from '../../core/errors.ts'
import { parseContentType } from '../../core/files/content-type.ts'
import { parseFileName } from '../../core/files/file-name.ts'
import { parseMetadata, parseVisibility } from '../../core/files/file-options.ts'
import { encodeFileName } from '../../core/files/file-url.ts'
import { type Arguments, type Flag, orUsageError, UsageError } from '../arguments.ts'
import { checkName, requireName } from './address.ts'

// The bucket and the file that a command names, and the properties that it gives to a file.

/** Reads the argument BUCKET. */
export const bucketPath = (args: Arguments): string =>
  `/v1/${requireName(args, 'db')}/_buckets/${checkName(args.positionals[0]!, 'BUCKET')}`

export const requireFileName = (name: string): string => orUsageError(() => parseFileName(name, 'NAME'))

/** `name` has been checked. */
export const filePath = (args: Arguments, name: string): string => `${bucketPath(args)}/${encodeFileName(name)}`

export const propertyFlags: Record<string, Flag> = {
  type: { type: 'string', value: 'TYPE', help: 'its media type; default: by the extension of the name' },
  visibility: { type: 'string', value: 'WHO', help: 'private or public (private)' },
  metadata: { type: 'string', value: 'JSON', help: 'a JSON object of at most 2048 bytes, returned with the file' },
}

interface Properties {
  type: string | undefined
  visibility: string | undefined
  /** JSON text. */
  metadata: string | undefined
}

/** The rules name the members of the API, which are also the names of the flags. */
const asFlag = <T>(parse: () => T): T => {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof CubbyError)) throw error
    throw new UsageError(`--${error.message.replace(/\.$/, '')}`)
  }
}

export const parseProperties = (args: Arguments): Properties => {
  const [type, visibility, metadata] = [args.text('type'), args.text('visibility'), args.text('metadata')]
  return {
    type: type === undefined ? undefined : asFlag(() => parseContentType(type, 'type')),
    visibility: visibility === undefined ? undefined : asFlag(() => parseVisibility(visibility)),
    metadata: metadata === undefined ? undefined : asFlag(() => parseMetadata(metadata)),
  }
}
