import { CubbyError } from '../../../../../client/src/transport/errors.ts'
import type { Call, Fetch, RequestOptions, Send } from '../../../../../client/src/transport/transport.ts'
import { type ApiError, noAnswer } from '../../../api/error.ts'
import { keptMembers, openAnswer, refusalOf } from '../../../api/request.ts'
import type { Page, RecordRow } from '../../../api/types.ts'
import { readAnswer } from '../../../text/answer.ts'
import { bodyOf, type Members } from '../query-form.ts'

// The requests of the client's `watch`, sent as the console sends all requests: data and operands stay text.

interface Heard {
  /** Changes arrive, or not any more. */
  onFeed(isOpen: boolean): void
  onQuery(isAnswered: boolean): void
  onPage(page: Page<RecordRow>): void
}

const timeoutMs = 30_000

/** The client knows only errors of its own. A page of a proxy tells nothing: it is asked again later. */
const clientErrorOf = (error: ApiError): CubbyError => {
  const { status, field, hint, requestId } = error
  const code = error.code === 'no_answer' || error.code === 'unexpected_answer' ? 'unavailable' : error.code
  return new CubbyError(code as CubbyError['code'], error.message, {
    status: code === 'unavailable' ? 0 : status,
    field,
    hint,
    requestId,
  })
}

/** The same answer; `onEnd` is called when its body has ended, however that was. */
const heardAnswer = ({ body, headers }: Response, onEnd: () => void): Response => {
  const reader = body!.getReader()
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      const { done, value } = await reader.read()
      if (!done) return controller.enqueue(value)
      onEnd()
      controller.close()
    } catch (error) {
      onEnd()
      controller.error(error)
    }
  }
  const cancel = (reason: unknown): Promise<void> => {
    onEnd()
    return reader.cancel(reason)
  }
  return new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), { headers })
}

/** `members` are those of the query: its own operands, whose text is exact. */
export const watchSend = (members: Members, key: string | undefined, heard: Heard): Send => {
  /** A watch reads on until it has `limit` records. The grid has one page, which is short if its records are large. */
  const readPage = (text: string): Page<RecordRow> => {
    const page = readAnswer<Page<RecordRow>>(text, keptMembers)
    heard.onQuery(true)
    heard.onPage(page)
    return { ...page, cursor: null }
  }

  return async <T>(call: Call, { signal }: RequestOptions = {}): Promise<T> => {
    const isQuery = call.path.endsWith('/query')
    const fetchFrom: Fetch = (path, init) =>
      openAnswer(
        call.method,
        path,
        {
          body: isQuery ? bodyOf(members) : (call.body as string),
          headers: call.headers,
          signal: init.signal!,
        },
        key,
      )
    const ends = [
      ...(signal === undefined ? [] : [signal]),
      ...(call.raw ? [] : [AbortSignal.timeout(timeoutMs + (call.waitMs ?? 0))]),
    ]
    try {
      const exchange = call.exchange?.(fetchFrom, true) ?? fetchFrom
      const response = await exchange(call.path, { signal: AbortSignal.any(ends) })
      if (call.raw && response.ok) {
        heard.onFeed(true)
        return heardAnswer(response, () => heard.onFeed(false)) as T
      }
      const text = await response.text()
      if (!response.ok) {
        throw clientErrorOf(refusalOf(response.status, text, response.headers.get('x-request-id'), key))
      }
      if (isQuery) return readPage(text) as T
      heard.onFeed(true)
      return JSON.parse(text) as T
    } catch (error) {
      if (isQuery) heard.onQuery(false)
      else heard.onFeed(false)
      throw signal?.aborted || error instanceof CubbyError ? error : clientErrorOf(noAnswer())
    }
  }
}
