import { pushInterimBytesMax, pushInterimResponsesMax, pushResponseHeadBytesMax } from '../core/limits.ts'
import { type BodyState, type Framing, PushResponseBody } from './response-body.ts'

export interface PushResponse {
  status: number
  retryAfter: string | undefined
  /** Undefined if it was not needed, too long, or not complete. */
  body: Uint8Array | undefined
}

/** The parts of an answer that have a limit. */
export type LimitedPart = 'interim' | 'head' | 'body'

/** There is no answer that counts. The message is for the run: it repeats nothing that the target has sent. */
export class BadResponse extends Error {}

export const noResponse = (): BadResponse => new BadResponse('The target closed the connection without an answer.')
const notHttp = (): BadResponse => new BadResponse('The answer is not HTTP.')

const statusLine = /^HTTP\/1\.[01] ([1-9]\d\d)(?: |$)/
const mayBeStatusLine = (beginning: string): boolean =>
  beginning === '\r' || 'HTTP/1.'.startsWith(beginning.slice(0, 7))
const headerName = /^[\w!#$%&'*+.^`|~-]+$/
const controlCharacter = /[\u0000-\u0008\u000a-\u001f\u007f]/

export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/**
 * Reads one answer of HTTP/1.1 from the bytes of a connection, and no more of them than the limits allow. It is our own because
 * `node:http` of Bun 1.4 cannot be bounded: blank lines before a head and zeros before the size of a chunk are read without
 * end, and the interim answers of one read are all parsed, thousands of them, although the first has destroyed the request.
 */
export class ResponseReader {
  /** The part that was too long. */
  cut: LimitedPart | undefined
  /** The line that has not ended yet. */
  #line = ''
  /** The status of the head that is being read; undefined before its status line has ended. */
  #status: number | undefined
  #headBytes = 0
  #interimAnswers = 0
  #interimBytes = 0
  #retryAfter: string | undefined
  #length: number | undefined
  #codings: string[] = []
  /** The head, from the end of the last one on. */
  #head: Pick<PushResponse, 'status' | 'retryAfter'> | undefined
  #body: PushResponseBody | undefined

  /** The answer if these bytes complete it, or all that counts of it. Throws BadResponse. */
  read(bytes: Buffer): PushResponse | undefined {
    let at = 0
    while (this.#head === undefined && at < bytes.length) at = this.#readHead(bytes, at)
    if (this.#head === undefined) return undefined
    return this.#body === undefined ? this.broken() : this.#answer(this.#body.read(bytes, at))
  }

  /** The connection has ended in order. Throws BadResponse. */
  end(): PushResponse {
    const response = this.#body && this.#answer(this.#body.end())
    if (response === undefined) throw noResponse()
    return response
  }

  /** Returns the response if nothing more comes: the status decides, so a body that breaks off is only not kept. */
  broken(): PushResponse | undefined {
    return this.#head && { ...this.#head, body: undefined }
  }

  #answer(state: BodyState): PushResponse | undefined {
    if (state === 'incomplete') return undefined
    if (state === 'cut') this.cut = 'body'
    return { ...this.#head!, body: state === 'whole' ? this.#body!.bytes : undefined }
  }

  /** Reads up to the end of the line, or of the bytes; returns where that is. */
  #readHead(bytes: Buffer, start: number): number {
    const lineFeed = bytes.indexOf(10, start)
    const end = lineFeed === -1 ? bytes.length : lineFeed + 1
    this.#headBytes += end - start
    if (this.#isInterim) {
      if (this.#interimBytes + this.#headBytes > pushInterimBytesMax) throw this.#tooManyInterim()
      // Headers of interim answers mean nothing here, and to make text of 16,000 short ones takes milliseconds.
      if (this.#line === '' && lineFeed - start > 1) return end
    } else if (this.#headBytes > pushResponseHeadBytesMax) {
      this.cut = 'head'
      throw new BadResponse('The headers of the answer are too long.')
    }
    this.#line += bytes.toString('latin1', start, end)
    if (lineFeed === -1) {
      // Another protocol may wait for us to go on, so its first bytes are enough.
      if (this.#status === undefined && !mayBeStatusLine(this.#line)) throw notHttp()
    } else {
      const line = this.#line.slice(0, -2)
      if (!this.#line.endsWith('\r\n') || controlCharacter.test(line)) throw notHttp()
      this.#line = ''
      if (this.#status === undefined) this.#takeStatusLine(line)
      else if (line === '') this.#endHead(this.#status)
      else this.#takeHeader(line)
    }
    return end
  }

  get #isInterim(): boolean {
    return this.#status !== undefined && this.#status < 200
  }

  #tooManyInterim(): BadResponse {
    this.cut = 'interim'
    return new BadResponse(
      `The target sent more than ${pushInterimResponsesMax} interim answers, or more than ${pushInterimBytesMax} bytes of them.`,
    )
  }

  #takeStatusLine(line: string): void {
    if (line === '') return
    const status = statusLine.exec(line)?.[1]
    if (status === undefined) throw notHttp()
    this.#status = Number(status)
    if (this.#status === 101) throw new BadResponse('The target answered 101.')
    if (this.#isInterim && ++this.#interimAnswers > pushInterimResponsesMax) throw this.#tooManyInterim()
  }

  #takeHeader(line: string): void {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0))
    if (!headerName.test(name)) throw notHttp()
    if (this.#isInterim) return
    const value = line.slice(colon + 1).trim()
    switch (name.toLowerCase()) {
      case 'retry-after':
        this.#retryAfter ??= value
        break
      case 'content-length':
        if (this.#length !== undefined || !/^\d+$/.test(value)) throw notHttp()
        this.#length = Number(value)
        break
      case 'transfer-encoding':
        this.#codings.push(...value.split(','))
    }
  }

  #endHead(status: number): void {
    if (this.#isInterim) {
      this.#interimBytes += this.#headBytes
      this.#headBytes = 0
      this.#status = undefined
      return
    }
    if (this.#length !== undefined && this.#codings.length > 0) throw notHttp()
    this.#head = { status, retryAfter: this.#retryAfter }
    // Any other status is all that counts.
    if (isSuccess(status)) this.#body = new PushResponseBody(this.#framingOf(status))
  }

  #framingOf(status: number): Framing {
    if (status === 204) return 0
    if (this.#codings.at(-1)?.trim().toLowerCase() === 'chunked') return 'chunks'
    return this.#codings.length > 0 ? 'connection' : (this.#length ?? 'connection')
  }
}
