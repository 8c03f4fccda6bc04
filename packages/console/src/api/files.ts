import { fileNameBytesMax, fileNameSegmentsMax } from '../../../server/src/core/limits.ts'
import { readAnswer } from '../text/answer.ts'
import { ApiError, noAnswer } from './error.ts'
import { basePath, connection, keptMembers, pathOf, read, refusalOf } from './request.ts'
import type { FileRow } from './types.ts'

// Bytes of files, which are not text, and the paths and addresses of files.

/**
 * The reason why the server rejects the name of a file; undefined if it takes it. It is checked here because a browser drops
 * `.` and `..` from a path: the request would name something else.
 */
export const fileNameFault = (name: string): string | undefined => {
  const segments = name.split('/')
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    return 'A name has 1 to 16 parts with "/" between them; none of them is empty, "." or "..".'
  }
  if (segments.length > fileNameSegmentsMax)
    return `The name has ${segments.length} parts; it takes at most ${fileNameSegmentsMax}.`
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) return 'The name has a control character; remove it.'
  if (!name.isWellFormed()) return 'The name has half of a character; remove it.'
  const bytes = new TextEncoder().encode(name).length
  return bytes > fileNameBytesMax ? `The name has ${bytes} bytes; it takes at most ${fileNameBytesMax}.` : undefined
}

export const bucketPath = (db: string, bucket: string): string => pathOf('v1', db, '_buckets', bucket)

/** Each segment is encoded, and the slashes stay. Throws for a name that must not go into a path. */
export const filePath = (db: string, bucket: string, name: string): string => {
  const fault = fileNameFault(name)
  if (fault !== undefined) throw new ApiError(400, 'invalid_key', fault, undefined, 'name', undefined)
  return bucketPath(db, bucket) + pathOf(...name.split('/'))
}

/**
 * The address at which the page itself loads a file, without a key. It is relative to the page: an address from the API
 * begins with `--public-url`, which may be another origin. The address of a public file contains its version, so that a
 * cached copy is never too old.
 */
export const ownAddress = async (db: string, bucket: string, file: FileRow, signal: AbortSignal): Promise<string> => {
  const sign = async (): Promise<string> => {
    const body = JSON.stringify({ name: file.name })
    return (await read<{ url: string }>('POST', `${bucketPath(db, bucket)}/url`, { body, signal })).url
  }
  const url = file.url === null ? await sign() : `${file.url}?v=${file.updatedAt}`
  return url.slice(url.search(/files\/bkt_\w{22}\//))
}

const authorization = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { Authorization: `Bearer ${key}` }

/** The bytes, with the content type of the file. */
export const readBytes = async (path: string, signal?: AbortSignal): Promise<Blob> => {
  const { key } = connection
  let response: Response
  let body: Blob
  try {
    response = await fetch(basePath + path, {
      signal,
      credentials: 'omit',
      cache: 'no-store',
      headers: authorization(key),
    })
    body = await response.blob()
  } catch (error) {
    if (signal?.aborted) throw error
    throw noAnswer()
  }
  if (response.ok) return body
  throw refusalOf(response.status, await body.text(), response.headers.get('x-request-id'), key)
}

interface SendBytesOptions {
  headers: Record<string, string>
  /** A share from 0 to 1. */
  onProgress: (part: number) => void
  signal: AbortSignal
}

/** Uses no `fetch`, which reports no progress of an upload. A file without a type gets the type of its extension. */
export const sendBytes = (
  path: string,
  body: Blob,
  { headers, onProgress, signal }: SendBytesOptions,
): Promise<FileRow> =>
  new Promise((resolve, reject) => {
    const { key } = connection
    const xhr = new XMLHttpRequest()
    xhr.open('PUT', basePath + path)
    for (const [name, value] of Object.entries({ ...authorization(key), ...headers })) xhr.setRequestHeader(name, value)
    xhr.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    const stop = () => xhr.abort()
    signal.addEventListener('abort', stop)
    xhr.onloadend = () => {
      signal.removeEventListener('abort', stop)
      if (signal.aborted) reject(signal.reason)
      else if (xhr.status === 0) reject(noAnswer())
      else if (xhr.status < 400) resolve(readAnswer<FileRow>(xhr.responseText, keptMembers))
      else reject(refusalOf(xhr.status, xhr.responseText, xhr.getResponseHeader('x-request-id'), key))
    }
    xhr.send(body)
  })
