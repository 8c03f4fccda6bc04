import type {
  ChangeFileRequest,
  DeleteFileResponse,
  FileItem,
  FileQuery,
  FileQueryResponse,
  FileRecord,
} from '@cubbydb/client'
import { contentTypePattern } from '../../core/files/content-type.ts'
import { visibilityRule } from '../../core/files/file-options.ts'
import { expiresInRule, fileQueryRules } from '../../core/files/file-query.ts'
import {
  contentTypeCharactersMax,
  countRowsMax,
  dataDepthMax,
  fileBytesMax,
  fileMetadataBytesMax,
  fileNameBytesMax,
  fileNameSegmentsMax,
  pageBytesMax,
  pageRowsDefault,
  pageRowsMax,
} from '../../core/limits.ts'
import { bucketMembers, bucketRequired } from '../buckets/schemas.ts'
import { ttl as recordTtl } from '../records/record-members.ts'
import {
  closed,
  cursorText,
  exactIntegers,
  freeObject,
  milliseconds,
  nextCursor,
  nullable,
  number,
  objectOf,
  ref,
  type Schema,
} from '../schema.ts'

const segment = '[^/\\x00-\\x1f\\x7f-\\x9f]+'

export const visibility: Schema = {
  ...visibilityRule,
  description: 'Everybody can read a `public` file by its URL; a `private` one needs a secret key or a signed URL.',
}

export const contentType: Schema = {
  type: 'string',
  maxLength: contentTypeCharactersMax,
  pattern: contentTypePattern,
  not: { pattern: ',' },
  description: 'The media type of the file, as it was sent. No comma is allowed, also not in a parameter.',
}

export const metadata = freeObject(
  `A JSON object of at most ${number(fileMetadataBytesMax)} bytes and ${dataDepthMax} levels. It is returned exactly as it was sent; \`{}\` by default.`,
)

export const ttl: Schema = {
  ...recordTtl,
  description:
    'When the file expires: epoch seconds, not a duration. The file no longer exists once this second begins. A time more than a day in the past is rejected.',
}

const fileFields = {
  name: ref('FileName'),
  size: { type: 'integer', format: 'int64', minimum: 0, maximum: fileBytesMax, description: 'In bytes.' },
  contentType: { type: 'string', description: 'The media type of the file.' },
  visibility,
  sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'The SHA-256 of the bytes, in hex.' },
  metadata,
  ttl,
  updatedAt: milliseconds(
    "The file's version, for conditions. It strictly increases with every write while the file exists.",
  ),
  url: nullable('string', { description: 'The permanent URL of a public file; null for a private one.' }),
} satisfies Record<string, Schema>

const fileRequired = ['name', 'size', 'contentType', 'visibility', 'sha256', 'metadata', 'updatedAt', 'url'] as const

/** JSON Schema has no direct form for members that exclude each other. */
export const excludedInQuery: Pick<Schema, 'not'> = {
  not: {
    anyOf: [
      { properties: { prefix: {}, index: {} }, required: ['prefix', 'index'] },
      { properties: { folders: { const: true }, index: {} }, required: ['folders', 'index'] },
      { properties: { folders: { const: true }, select: { const: 'count' } }, required: ['folders', 'select'] },
    ],
  },
}

const changes = {
  visibility,
  contentType,
  metadata,
  ttl: nullable('integer', { ...ttl, description: `${ttl.description} Null removes it.` }),
} satisfies Record<string, Schema>

export const fileSchemas = {
  FileName: {
    type: 'string',
    minLength: 1,
    maxLength: fileNameBytesMax,
    pattern: `^${segment}(/${segment}){0,${fileNameSegmentsMax - 1}}$`,
    not: { pattern: '(^|/)\\.{1,2}(/|$)' },
    description: `1 to ${number(fileNameBytesMax)} bytes of UTF-8. \`/\` divides it into 1 to ${fileNameSegmentsMax} segments; none is empty, \`.\` or \`..\`. No control characters.`,
  },
  FileRecord: objectOf<FileRecord>('The record of a file: everything but its bytes.', [...fileRequired], fileFields),
  FileItem: objectOf<FileItem>('A file of a page.', [...fileRequired], {
    ...fileFields,
    url: nullable('string', {
      description: 'The permanent URL of a public file; for a private one null, or with `expiresIn` a signed URL.',
    }),
    urlExpiresAt: milliseconds('When the signed URL expires. Only private files of a query with `expiresIn` have it.'),
  }),
  ChangeFileRequest: {
    ...closed(objectOf<ChangeFileRequest>('The changes, at least one member.', [], changes)),
    minProperties: 1,
  },
  DeleteFileResult: objectOf<DeleteFileResponse>('The result of a delete.', ['deleted'], {
    deleted: { type: 'boolean', description: 'False if there was no such file.' },
  }),
  FileQuery: {
    ...closed(
      objectOf<FileQuery>('Which files to list. `prefix` and `index` exclude each other.', [], {
        prefix: {
          type: 'string',
          maxLength: fileNameBytesMax,
          description: 'Only files whose names begin with it.',
        },
        folders: {
          ...fileQueryRules.folders,
          description:
            'True: names with a `/` behind the prefix are listed as `folders`, each once. Not with `index`, and not with `select: "count"`.',
        },
        index: {
          type: 'string',
          const: 't',
          description: '`t`: by `updatedAt`, newest first unless `ascending` is true. Absent: by name.',
        },
        select: {
          ...fileQueryRules.select,
          description:
            '`data`: the files, as without `select`. `count`: `items` is empty, and `count` is the number of files that matched.',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          description: `The maximum number of items in a page, ${pageRowsDefault} if absent. A value above ${number(pageRowsMax)} counts as ${number(pageRowsMax)}. With \`select: "count"\` the maximum number of files that are counted: ${number(countRowsMax)} if absent, and at most.`,
        },
        ascending: {
          ...fileQueryRules.ascending,
          description: 'True by default for a listing by name, false for `index: "t"`.',
        },
        cursor: nullable('string', {
          ...cursorText,
          description:
            'The `cursor` of the previous page, with the same prefix, folders, index and direction; null: the first.',
        }),
        expiresIn: {
          ...expiresInRule,
          description: 'Seconds. Private files get signed URLs that are valid for so long. Needs a secret key.',
        },
      }),
    ),
    ...excludedInQuery,
  },
  FilePage: objectOf<FileQueryResponse>(
    `A page. It ends early where the JSON text of \`items\`, metadata and URLs included, would exceed ${number(pageBytesMax)} bytes. A page may be short or even empty and still have a cursor: only null means the end.`,
    ['items', 'count', 'cursor'],
    {
      items: { type: 'array', items: ref('FileItem'), maxItems: pageRowsMax },
      folders: {
        type: 'array',
        items: { type: 'string' },
        maxItems: pageRowsMax,
        description:
          'Only with `folders: true`: the parts of names up to the first `/` behind the prefix. Each begins with the prefix and ends with `/`.',
      },
      count: {
        type: 'integer',
        minimum: 0,
        maximum: countRowsMax,
        description:
          'The number of items and folders in this page; with `select: "count"` the number of files that matched.',
      },
      cursor: nextCursor,
    },
  ),
} satisfies Record<string, Schema>

export const fileMembers = {
  ...bucketMembers,
  name: { ...ref('FileName'), description: 'The name of the file.' },
} satisfies Record<string, Schema>

export const fileAddressRequired = [...bucketRequired, 'name']

export const putMembers = {
  content: { type: 'string', description: 'The bytes of the file, here as text.' },
  contentType: {
    ...contentType,
    description: `${contentType.description} Absent: it follows the extension of the name, else it is \`application/octet-stream\`.`,
  },
  visibility: { ...visibility, default: 'private' },
  ttl,
  metadata,
} satisfies Record<string, Schema>

export const condition = {
  ifUpdatedAt: {
    oneOf: [nullable('integer', exactIntegers), { type: 'string', const: '*' }],
    description:
      'Write only if this is the `updatedAt` of the file; null: only if it does not exist; `*`: only if it exists.',
  },
} satisfies Record<string, Schema>

export const oneOfThese = (names: string[]): Pick<Schema, 'anyOf'> => ({
  anyOf: names.map((name) => ({ properties: { [name]: {} }, required: [name] })),
})
