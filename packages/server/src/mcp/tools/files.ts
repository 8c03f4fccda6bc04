import { parseFileQuery } from '../../core/files/file-query.ts'
import { toolRowsDefault, toolRowsMax } from '../../core/limits.ts'
import { parseLimit, refuseUnknownMembers } from '../../core/members.ts'
import { parsePlainBody } from '../../core/text/plain-body.ts'
import { parseBucketAddress } from '../../operations/access.ts'
import { fileUrlJson, getFileUrl, getFileUrlOperation } from '../../operations/files/get-file-url.ts'
import { listFiles } from '../../operations/files/query-files.ts'
import { takeFitting } from './fitting.ts'
import { bool, cursorIn, cursorOut, db, integer, list, object, text } from './schemas.ts'
import type { Tool } from './tool.ts'

const fileOut = object({
  name: text,
  size: integer(),
  contentType: text,
  visibility: text,
  updatedAt: integer(),
  url: { type: ['string', 'null'] },
  urlExpiresAt: integer(),
})

export const listFilesTool: Tool = {
  name: 'list_files',
  description:
    'Files of a bucket by name, or with index "t" the newest. expiresIn: seconds; private files get signed URLs.',
  keyNeeded: 'read',
  properties: {
    db,
    bucket: text,
    prefix: text,
    index: { const: 't' },
    ascending: bool,
    limit: integer(1, { maximum: toolRowsMax, default: toolRowsDefault }),
    select: { enum: ['data', 'count'] },
    expiresIn: integer(1),
    cursor: cursorIn,
  },
  required: ['db', 'bucket'],
  output: object({ items: list(fileOut), count: integer(), cursor: cursorOut, cut: bool }, [
    'items',
    'count',
    'cursor',
    'cut',
  ]),
  async run(call) {
    const { db, bucket, limit, ...members } = parsePlainBody(call.text)
    const address = parseBucketAddress(db, bucket)
    const query = parseFileQuery(members.select === 'count' ? { ...members, limit } : members)
    if (query.select !== 'count') query.limit = parseLimit(limit, toolRowsDefault, toolRowsMax)
    let cut = false
    for (let rows = query.limit; ; cut = true) {
      const page = await listFiles(call, { ...address, query: { ...query, limit: rows } }, call.baseUrl)
      const items = takeFitting(page.items)
      if (items.length === page.items.length) {
        const { count, cursor } = page
        return `{"items":[${items.join(',')}],"count":${count},"cursor":${JSON.stringify(cursor)},"cut":${cut}}`
      }
      rows = items.length
    }
  },
}

const urlFields = ['db', 'bucket', 'name', 'expiresIn', 'download']

export const getFileUrlTool: Tool = {
  name: 'get_file_url',
  description:
    'A URL with which anybody can read one file. Private files get one that expires after expiresIn seconds (900); download: save instead of show.',
  keyNeeded: 'read',
  properties: { db, bucket: text, name: text, expiresIn: integer(1), download: { type: ['boolean', 'string'] } },
  required: ['db', 'bucket', 'name'],
  output: object({ url: text, method: text, expiresAt: { type: ['integer', 'null'] } }, ['url']),
  async run({ access, text, nowMs, baseUrl }) {
    // The URL cannot be one for an upload: this tool only reads, and is there with readOnly too.
    refuseUnknownMembers(parsePlainBody(text), urlFields)
    return fileUrlJson(await getFileUrl(access, getFileUrlOperation.parse(text, nowMs), nowMs), baseUrl)
  },
}
