import { refusal } from '../transport/errors.ts'
import { type CubbyOptions, createSendTo } from '../transport/transport.ts'
import type { FileRecord } from '../transport/wire-files.ts'
import { type FileBody, type UploadOptions, upload } from './upload.ts'

/** Uploads to a signed URL, as `bucket.getUrl(name, { method: 'PUT' })` returns it. It needs no API key. */
export const uploadTo = async <Metadata extends object = Record<string, unknown>>(
  url: string,
  body: FileBody,
  options: UploadOptions & Pick<CubbyOptions, 'fetch'> = {},
): Promise<FileRecord<Metadata>> => {
  // A page that got an error instead of a URL has undefined here. A browser would resolve that against its own address.
  if (!/^(https?:|\/)/.test(url))
    throw refusal('invalid_request', 'url', 'is not a URL; it takes the url that getUrl returned.')
  return upload(createSendTo('', {}, options), { path: url, effect: 'write' }, body, options)
}
