import type { DownloadUrlRequest, FileUrl, UploadUrlRequest } from '@cubbydb/client'
import { expiresInRule } from '../../core/files/file-query.ts'
import { urlRules } from '../../core/files/url-options.ts'
import { downloadNameCharactersMax, urlSecondsDefault, urlSecondsMax } from '../../core/limits.ts'
import { closed, nullable, number, objectOf, ref, type Schema, times } from '../schema.ts'
import { contentType, metadata, ttl, visibility } from './schemas.ts'

const name: Schema = { ...ref('FileName'), description: 'The name of the file.' }

const expiresIn = (absent: string): Schema => ({
  ...expiresInRule,
  description: `Seconds, at most ${number(urlSecondsMax)}. The URL never outlives the API key that signs it. ${absent}`,
})

export const urlSchemas = {
  DownloadUrlRequest: closed(
    objectOf<DownloadUrlRequest>('A URL to read a file with.', ['name'], {
      name,
      method: { type: 'string', const: 'GET', description: 'The URL is for reading, also if this is absent.' },
      expiresIn: expiresIn(
        `Absent: a public file gets its permanent URL, a private one a signed URL for ${urlSecondsDefault} seconds.`,
      ),
      download: {
        anyOf: [
          { type: 'boolean' },
          {
            type: 'string',
            minLength: 1,
            maxLength: downloadNameCharactersMax,
            pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$',
          },
        ],
        description: 'Browsers save the file instead of showing it: true, or the name to save it as.',
      },
    }),
  ),
  UploadUrlRequest: closed(
    objectOf<UploadUrlRequest>('A URL to upload one file to. Needs a secret key.', ['name', 'method'], {
      name,
      method: { type: 'string', const: 'PUT', description: 'The URL is for an upload.' },
      expiresIn: expiresIn(`Absent: ${urlSecondsDefault}.`),
      visibility,
      contentType: {
        ...contentType,
        description: 'The upload must have this type; one without a type gets it. Absent: any type is allowed.',
      },
      sizeMax: {
        ...urlRules.sizeMax,
        format: 'int64',
        description: 'The upload may have at most this many bytes.',
      },
      ttl,
      metadata,
      replace: {
        type: 'boolean',
        description: 'Whether the upload may replace a file. Absent or false: it is rejected if a file has the name.',
      },
    }),
  ),
  FileUrlRequest: {
    description: 'A URL to read a file with, or to upload one to.',
    anyOf: [ref('DownloadUrlRequest'), ref('UploadUrlRequest')],
  },
  FileUrl: objectOf<FileUrl>('A URL of a file. Everybody who has it can use it.', ['url', 'method', 'expiresAt'], {
    url: { type: 'string', description: 'The URL. Send no API key with it.' },
    method: { ...urlRules.method, description: 'The method that it is for.' },
    expiresAt: nullable('integer', { ...times, description: 'Epoch milliseconds. Null: the URL is permanent.' }),
  }),
} satisfies Record<string, Schema>
