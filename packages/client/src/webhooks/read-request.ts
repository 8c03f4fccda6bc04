import { PushError } from './push-error.ts'

/** A request as a framework of Node has it: `{ headers: request.headers, body: rawBody }`. */
export interface PushRequest {
  headers: Headers | Record<string, string | readonly string[] | undefined>
  /** The bytes as they came, or as text. Not what a JSON parser made of them: the signature is of the bytes. */
  body: string | Uint8Array | ArrayBuffer
}

/** A payload has at most 409,600 bytes. */
const bodyBytesMax = 1024 * 1024

/** The headers by their names in lower case. */
export const readHeaders = ({ headers }: Request | PushRequest): Map<string, string> => {
  // `instanceof` would not do: frameworks have classes of their own.
  const entries = Symbol.iterator in Object(headers) ? (headers as Headers) : Object.entries(headers ?? {})
  const found = new Map<string, string>()
  for (const [name, value] of entries) if (value !== undefined) found.set(name.toLowerCase(), String(value))
  return found
}

const tooLarge = () => new PushError('body', `The body is larger than ${bodyBytesMax} bytes: no push is.`)

const join = (chunks: Uint8Array[], size: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Reads no more than a push can have. Anybody may send more. */
const readStream = async (body: ReadableStream<Uint8Array> | null): Promise<Uint8Array<ArrayBuffer>> => {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) return join(chunks, size)
    size += value.length
    if (size > bodyBytesMax) {
      reader?.cancel().catch(() => {})
      throw tooLarge()
    }
    chunks.push(value)
  }
}

export const readBody = async (request: Request | PushRequest): Promise<Uint8Array<ArrayBuffer>> => {
  if ('bodyUsed' in request) {
    if (request.bodyUsed) throw new PushError('body', 'The body was read already. Pass the request before you read it.')
    return readStream(request.body)
  }
  const { body } = request
  const bytes =
    typeof body === 'string'
      ? new TextEncoder().encode(body)
      : body instanceof ArrayBuffer
        ? new Uint8Array(body)
        : ArrayBuffer.isView(body)
          ? Uint8Array.from(body)
          : undefined
  if (bytes === undefined) {
    const found = body === undefined || body === null ? 'missing' : 'parsed already'
    throw new PushError(
      'body',
      `The body is ${found}. Pass its bytes or text as they came, for example by express.raw.`,
    )
  }
  if (bytes.length > bodyBytesMax) throw tooLarge()
  return bytes
}
