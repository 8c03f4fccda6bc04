import { CubbyError } from '../../core/errors.ts'
import { parseFileName } from '../../core/files/file-name.ts'
import { fileUrl } from '../../core/files/file-url.ts'
import { encodeParameter } from '../../core/files/signed-url.ts'
import { parseUrlOptions, type UrlOptions } from '../../core/files/url-options.ts'
import { urlSecondsDefault } from '../../core/limits.ts'
import type { Access } from '../access.ts'
import { createAvatars } from '../buckets/examples.ts'
import { bucketMembers, bucketRequired } from '../buckets/schemas.ts'
import { requireBucket } from '../lifecycle.ts'
import { defineOperation } from '../operation.ts'
import { inputOf, ref } from '../schema.ts'
import { given, inAvatars, noFile, picture, thePicture } from './examples.ts'
import { type FileAddress, fileNotFound, readFile, refusePrivate } from './file-access.ts'
import { type FileUrl, refuseSigning, signUrl } from './sign-url.ts'
import { base, expiresAt, publish, signedUrl } from './url-examples.ts'
import { urlSchemas } from './url-schemas.ts'

interface GetFileUrlInput extends FileAddress, UrlOptions {}

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
  // A file to upload does not have to exist; a public key is told first that the file is private.
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
  keyNeeded: 'read',
  grants: {
    of: 'bucket',
    can: 'read',
    needs: ({ db, bucket, name, method }) =>
      method === 'GET' ? { of: 'file', db, bucket, can: 'read', name } : { of: 'nothing', db },
  },
  effect: 'reads',
  route: { method: 'POST', path: '/v1/:db/_buckets/:bucket/url', body: { schema: 'FileUrlRequest', required: true } },
  command: 'files url {bucket} {name} --db {db}',
  tool: 'get_file_url',
  read({ members, text }, nowMs) {
    const options = parseUrlOptions(text, members, nowMs)
    return { name: parseFileName(members.name), ...options }
  },
  run: getFileUrl,
  present: (url, _, caller) => fileUrlJson(url, caller?.baseUrl),
  describe: () => ({
    title: 'Get a URL of a file',
    description:
      'A URL with which anybody can read one file, or with `method: "PUT"` upload one, without an API key. A public file without `expiresIn` gets its permanent URL; every other URL is signed and expires. Signing needs a secret key.\n\nA signed URL stops working when the API key that signed it expires or is revoked. `download` makes browsers save the file instead of showing it.\n\nA URL for an upload allows that one name. It also fixes the `visibility`, `metadata` and `ttl` of the file, and, if given, its `contentType` and its largest size. Without `replace` it works only while no file has the name.',
    returns: 'The URL, its method and when it expires.',
    codes: ['invalid_key', 'invalid_ttl', 'read_only_key', 'private_file', 'bucket_not_found', 'file_not_found'],
    note: 'A public key gets the permanent URLs of public files only. Use the URL without an API key: GET and HEAD read the file, PUT uploads it.',
    input: inputOf(
      { oneOf: [urlSchemas.DownloadUrlRequest, urlSchemas.UploadUrlRequest] },
      bucketMembers,
      bucketRequired,
    ),
    output: ref('FileUrl'),
    client: { on: 'bucket', method: 'getUrl', result: 'link', args: ({ name, ...options }) => [name, options] },
    examples: [
      {
        name: 'private',
        summary: 'A private file for a quarter of an hour',
        given,
        input: thePicture,
        output: { url: signedUrl(`${base}/ada/small.png`), method: 'GET', expiresAt },
      },
      {
        name: 'permanent',
        summary: 'A public file, to be saved as a file',
        given: [...given, publish],
        input: { ...thePicture, download: true },
        output: { url: `${base}/ada/small.png?download`, method: 'GET', expiresAt: null },
      },
      {
        name: 'upload',
        summary: 'Let a browser upload a picture of at most 1 MB',
        given: [createAvatars],
        input: { ...thePicture, method: 'PUT', expiresIn: 300, contentType: picture.contentType, sizeMax: 1_000_000 },
        output: {
          url: signedUrl(`${base}/ada/small.png`, 'contentType=image%2Fpng&sizeMax=1000000&'),
          method: 'PUT',
          expiresAt,
        },
      },
      {
        name: 'missing',
        summary: 'No such file',
        given,
        input: { ...inAvatars, name: 'ada/large.png' },
        error: noFile,
      },
      {
        name: 'badName',
        summary: 'No file can have this name',
        given,
        input: { ...inAvatars, name: 'ada/../small.png' },
        error: {
          code: 'invalid_key',
          message: 'name has a segment "." or "..", which URL parsers drop from paths.',
          field: 'name',
          hint: 'Use another name.',
        },
      },
      {
        name: 'millisecondsAsTtl',
        summary: 'A ttl in milliseconds',
        given: [createAvatars],
        input: { ...thePicture, method: 'PUT', ttl: 4102444800000 },
        error: {
          code: 'invalid_ttl',
          message: 'ttl is 4102444800000; it takes epoch seconds, an integer from 0 to 253402300799.',
          field: 'ttl',
          hint: 'It looks like milliseconds; give seconds: 4102444800.',
        },
      },
    ],
  }),
})
