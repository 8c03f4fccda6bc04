import { matches, refusal } from '../transport/errors.ts'
import { iteratorOf } from '../transport/iterator-of.ts'
import { type Call, type CubbyOptions, createSendTo, type RequestOptions, type Send } from '../transport/transport.ts'
import type { FileRecord } from '../transport/wire-files.ts'
import { type UploadProgress, xhrFetch } from './xhr-fetch.ts'

/** The types that can be uploaded. A `File` is a `Blob`; a `ReadableStream` and Node's streams are read as they are sent. */
export type FileBody =
  | Blob
  | ArrayBuffer
  | ArrayBufferView
  | string
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>

export interface UploadOptions extends RequestOptions {
  /** Default: the type of the `Blob` or `File`; without one, the server takes it from the file's extension. */
  contentType?: string
  /** Hex: the digest that the bytes must have. With another one nothing is stored: `digest_mismatch`. */
  sha256?: string
  /**
   * Called as the bytes are sent in browsers, and as the runtime takes them in Node, Bun and Deno, which is a little earlier. A
   * retry begins again at 0. For an empty file it is called once, with `sentBytes` 0.
   */
  onProgress?: (progress: UploadProgress) => void
}

/** Node has all bytes of a `Blob` in one chunk of its stream. Smaller pieces make progress visible. */
const pieceBytes = 65_536

type Chunks = AsyncIterator<Uint8Array | string, unknown, undefined>

/** The bytes, or undefined for a stream. */
const toBlob = (body: FileBody): Blob | undefined => {
  if (body instanceof Blob) return body
  if (typeof body === 'string' || body instanceof ArrayBuffer || ArrayBuffer.isView(body)) {
    return new Blob([body as string])
  }
  // Anything else would be stored as "[object Object]".
  if (!('getReader' in Object(body) || Symbol.asyncIterator in Object(body))) {
    throw refusal('invalid_request', 'body', 'takes a Blob, bytes, a string, a stream or an async iterable.')
  }
  return undefined
}

const toBytes = (chunk: Uint8Array | string): Uint8Array<ArrayBuffer> => {
  if (typeof chunk === 'string') return new TextEncoder().encode(chunk)
  if (chunk instanceof Uint8Array) return chunk as Uint8Array<ArrayBuffer>
  throw refusal('invalid_request', 'body', 'has a chunk that is neither a Uint8Array nor a string.')
}

const headersOf = (contentType: string | undefined, sha256: string | undefined): Record<string, string> => {
  // `fetch` throws for a line break, as if the connection had failed.
  if (/[^ -~]/.test(contentType ?? '')) throw refusal('invalid_request', 'contentType', 'takes printable ASCII.')
  if (sha256 !== undefined && !matches(/^[\da-f]{64}$/i, sha256)) {
    throw refusal('invalid_request', 'sha256', 'takes a string of 64 hex digits.')
  }
  const digest = sha256?.replace(/../g, (hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return {
    ...(contentType && { 'content-type': contentType }),
    ...(digest && { 'content-digest': `sha-256=:${btoa(digest)}:` }),
  }
}

/**
 * Returns why a `Blob` could not be read, such as a `Bun.file` that is missing. Undefined for other errors, and in browsers.
 */
const readErrorOf = (error: unknown): unknown => {
  const { code, cause } = Object(error)
  // Bun rejects with the error of the file, Node has it in `cause`. No error of a connection looks like these.
  if (/^(ENOENT|EISDIR|EACCES)$/.test(code)) return error
  return cause?.name === 'NotReadableError' ? cause : undefined
}

/** Sends the bytes of a file. */
export const upload = async <T>(
  send: Send,
  call: Pick<Call, 'path' | 'effect' | 'headers'>,
  body: FileBody,
  { contentType, sha256, onProgress, ...options }: UploadOptions,
): Promise<T> => {
  let blob = toBlob(body)
  const headers = headersOf(contentType ?? blob?.type, sha256)
  const inBrowser = 'XMLHttpRequest' in globalThis
  const chunks = blob ? undefined : iteratorOf<Uint8Array | string>(body as ReadableStream<Uint8Array>)
  /** The error of the caller's stream or Blob in the last attempt. */
  let failure: unknown

  const streamOf = (source: Chunks, report = onProgress) => {
    let sentBytes = 0
    let rest: Uint8Array<ArrayBuffer> | undefined
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        let bytes: Uint8Array<ArrayBuffer> | undefined
        try {
          options.signal?.throwIfAborted()
          if (!rest?.length) {
            const { done, value } = await source.next()
            rest = done ? undefined : toBytes(value)
          }
          bytes = rest?.subarray(0, pieceBytes)
          rest = rest?.subarray(pieceBytes)
          sentBytes += bytes?.length ?? 0
          // An empty file has one step too.
          if (bytes ? bytes.length : sentBytes === 0) report?.({ sentBytes, totalBytes: blob?.size })
        } catch (error) {
          failure = error
          throw error
        }
        // Outside of `try`: it fails if the server has answered and the stream is over, and the answer counts.
        if (bytes) controller.enqueue(bytes)
        else controller.close()
      },
    })
  }

  const exchange: Call['exchange'] = (fetchFrom, isOwn) => {
    if (inBrowser && onProgress && !isOwn) return xhrFetch(onProgress)
    const streamed = (init: RequestInit): RequestInit & { duplex: 'half' } => ({
      ...init,
      headers: { ...init.headers, ...(blob && { 'content-length': `${blob.size}` }) },
      body: streamOf(chunks ?? iteratorOf<Uint8Array | string>(blob!.stream())),
      duplex: 'half',
    })
    return async (url, init) => {
      failure = undefined
      try {
        return await fetchFrom(url, blob && (inBrowser || !onProgress) ? init : streamed(init))
      } catch (error) {
        failure ??= body instanceof Blob ? readErrorOf(error) : undefined
        throw error
      }
    }
  }

  const collect = async (source: Chunks): Promise<Blob> => {
    try {
      return await new Response(streamOf(source, () => {})).blob()
    } catch (error) {
      throw failure ?? error
    }
  }

  try {
    // Chromium streams a body only over HTTP/2, and other browsers do not stream at all.
    if (chunks && inBrowser) blob = await collect(chunks)
    return await send(
      {
        ...call,
        method: 'PUT',
        headers: { ...headers, ...call.headers },
        body: blob,
        exchange,
        failure: () => failure,
        once: !blob,
      },
      // The time that an upload takes depends on its size.
      { ...options, timeoutMs: options.timeoutMs ?? Number.POSITIVE_INFINITY },
    )
  } finally {
    chunks?.return?.().then(undefined, () => {})
  }
}

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
