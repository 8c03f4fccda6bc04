import { CubbyError } from '../../core/errors.ts'
import { parseFileName } from '../../core/files/file-name.ts'
import { fileUrl } from '../../core/files/file-url.ts'
import { encodeParameter } from '../../core/files/signed-url.ts'
import { parseUrlOptions, type UrlOptions } from '../../core/files/url-options.ts'
import { urlSecondsDefault } from '../../core/limits.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import type { Access } from '../access.ts'
import { parseBucketAddress, requireBucket } from '../buckets/bucket-access.ts'
import { defineOperation } from '../operation.ts'
import { type FileAddress, fileNotFound, readFile, refusePrivate } from './file-access.ts'
import { type FileUrl, refuseSigning, signUrl } from './sign-url.ts'

export interface GetFileUrlInput extends FileAddress, UrlOptions {}

/** `text` is the body of the request, or the whole input. */
export const parseFileUrl = (text: string, db: unknown, bucket: unknown, nowMs: number): GetFileUrlInput => {
  const { db: _, bucket: __, ...members } = parsePlainBody(text)
  const address = parseBucketAddress(db, bucket)
  const options = parseUrlOptions(text, members, nowMs)
  return { ...address, name: parseFileName(members.name), ...options }
}

const refusePublicKey = ({ apiKey }: Access, { method, expiresInSeconds }: UrlOptions): void => {
  if (apiKey.kind === 'secret' || (method === 'GET' && expiresInSeconds === undefined)) return
  throw new CubbyError('read_only_key', 'A signed URL needs a secret key; a public key gets permanent URLs.', {
    field: method === 'PUT' ? 'method' : 'expiresIn',
    hint: 'Leave expiresIn and method out, or send the request from your server with a secret key (svc_live_…).',
  })
}

const permanentQuery = (options: UrlOptions['options']): string => {
  const download = options.get('download')
  if (download === undefined) return ''
  return download === '' ? 'download' : `download=${encodeParameter(download)}`
}

/** The permanent URL of a public file, or a signed URL. */
export const getFileUrl = async (access: Access, input: GetFileUrlInput, nowMs: number): Promise<FileUrl> => {
  const { name, method, expiresInSeconds, options } = input
  const bucket = await requireBucket(access, input, nowMs)
  const bucketId = bucket.publicId!
  // What is uploaded does not have to exist; a public key is told first that the file is private.
  const file =
    method === 'GET' || access.apiKey.kind === 'public' ? await readFile(access, bucket, name, nowMs) : undefined
  if (file !== undefined) refusePrivate(access, file)
  refusePublicKey(access, input)
  if (file === undefined && method === 'GET') throw fileNotFound(input)
  if (method === 'GET' && file!.content.visibility === 'public') {
    if (expiresInSeconds === undefined) {
      return { target: fileUrl('', bucketId, name, permanentQuery(options)), method, expiresAtMs: null }
    }
    refuseSigning(access, true)
  }
  const keyring = await access.engine.secrets.at(nowMs)
  return signUrl(access, keyring, { method, bucketId, name }, expiresInSeconds ?? urlSecondsDefault, options, nowMs)
}

/** `base`: the address at which the server is reached. Without it the URL is a path. */
export const fileUrlJson = ({ target, method, expiresAtMs }: FileUrl, base = ''): string =>
  JSON.stringify({ url: base + target, method, expiresAt: expiresAtMs })

export const getFileUrlOperation = defineOperation({
  id: 'getFileUrl',
  area: 'files',
  summary: 'Get a URL of a file',
  description:
    'A URL with which anybody can read one file, or with `method: "PUT"` upload one, without an API key. A public file without `expiresIn` gets its permanent URL; every other URL is signed and expires. Signing needs a secret key.\n\nA signed URL stops working when the API key that signed it expires or is revoked. `download` makes browsers save the file instead of showing it.\n\nA URL for an upload allows that one name. It also fixes the `visibility`, `metadata` and `ttl` of the file, and, if given, its `contentType` and its largest size. Without `replace` it works only while no file has the name.',
  keyNeeded: 'read',
  effect: 'reads',
  returns: 'The URL, its method and when it expires.',
  codes: ['invalid_key', 'invalid_ttl', 'read_only_key', 'private_file', 'bucket_not_found', 'file_not_found'],
  parse(text, nowMs): GetFileUrlInput {
    const { db, bucket } = parsePlainBody(text)
    return parseFileUrl(text, db, bucket, nowMs)
  },
  run: getFileUrl,
  present: (url) => fileUrlJson(url),
})
