import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { downloadNameCharactersMax, fileBytesMax, urlSecondsDefault } from '../limits.ts'
import { type Members, parseFlag, refuseUnknownMembers } from '../members.ts'
import { parseTtl } from '../records/record-data.ts'
import { readScalar, type Scalar, words } from '../scalar.ts'
import { parseContentType } from './content-type.ts'
import { noMetadata, parseMetadataMember, parseVisibility } from './file-options.ts'
import { expiresInRule } from './file-query.ts'

// Options of a URL of a file. They become parameters of the URL, under the same names.

export interface UrlOptions {
  method: 'GET' | 'PUT'
  /** undefined: the permanent URL, if the file has one. */
  expiresInSeconds: number | undefined
  options: ReadonlyMap<string, string>
}

const uploadFields = ['visibility', 'contentType', 'sizeMax', 'ttl', 'metadata', 'replace'] as const
const fields = ['name', 'method', 'expiresIn', 'download', ...uploadFields] as const

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', `${field} ${message}`, { field, hint })
}

export const urlRules = {
  method: { type: 'string', enum: ['GET', 'PUT'], [words]: { hint: 'Leave it out for a URL to read with.' } },
  sizeMax: { type: 'integer', minimum: 0, maximum: fileBytesMax, [words]: { unit: 'bytes' } },
} as const satisfies Record<string, Scalar>

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/** The parameter `download`: empty for the file's own name. */
const parseDownload = (value: unknown): string | undefined => {
  if (value === undefined || value === false) return undefined
  if (value === true) return ''
  if (typeof value !== 'string') {
    return refuse('download', `is ${describeValue(value)}; it takes true, or the name to save the file as.`)
  }
  const length = [...value].length
  if (length < 1 || length > downloadNameCharactersMax) {
    return refuse('download', `has ${length} characters; it takes 1 to ${downloadNameCharactersMax}.`, 'Or give true.')
  }
  if (!value.isWellFormed()) return refuse('download', 'has a lone surrogate; it takes well-formed Unicode.')
  if (controlCharacter.test(value)) return refuse('download', 'has a control character.', 'Remove it.')
  return value
}

const withOptions = (entries: Record<string, string | undefined>): ReadonlyMap<string, string> =>
  new Map(Object.entries(entries).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

/** `text` is the whole body, `members` are its members apart from the address of the bucket. */
export const parseUrlOptions = (text: string, members: Members, nowMs: number): UrlOptions => {
  refuseUnknownMembers(members, fields)
  const method = readScalar(urlRules.method, members.method, 'method') ?? 'GET'
  if (method === 'GET') {
    const upload = uploadFields.find((field) => members[field] !== undefined)
    if (upload !== undefined) refuse(upload, 'is for URLs to upload to.', 'Give "method": "PUT" too, or leave it out.')
    const expiresInSeconds = readScalar(expiresInRule, members.expiresIn, 'expiresIn')
    return { method, expiresInSeconds, options: withOptions({ download: parseDownload(members.download) }) }
  }
  if (members.download !== undefined) refuse('download', 'is for URLs to read with.', 'Leave it or "method" out.')
  const { visibility, contentType, sizeMax, ttl, metadata, replace } = members
  const expiresInSeconds = readScalar(expiresInRule, members.expiresIn, 'expiresIn') ?? urlSecondsDefault
  const shown = parseVisibility(visibility)
  const stored = parseMetadataMember(text, metadata)
  const options = {
    visibility: shown === 'private' ? undefined : shown,
    contentType: contentType === undefined ? undefined : parseContentType(contentType),
    sizeMax: readScalar(urlRules.sizeMax, sizeMax, 'sizeMax')?.toString(),
    ttl: parseTtl(ttl, 'ttl', nowMs)?.toString(),
    metadata: stored === noMetadata ? undefined : stored,
    replace: parseFlag(replace, 'replace') ? 'true' : undefined,
  }
  return { method, expiresInSeconds, options: withOptions(options) }
}
