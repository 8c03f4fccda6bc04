import { CubbyError } from '../index.ts'
import type { LoadOptions, LoadSource } from '../records/loading.ts'
import type { ErrorDetails } from '../transport/errors.ts'
import { listPath } from '../transport/list-path.ts'
import type { Send } from '../transport/transport.ts'
import type { LoadLineError, LoadResponse } from '../transport/wire.ts'
import { LoadError } from './load-error.ts'
import { partsOf } from './parts.ts'

/** So many refused lines are named, as in one answer of the server. */
const errorsMax = 100
/** The server waits so long until there is room for the lines. */
const waitMs = 30_000

/** `line` is the first line of the request. */
const addAnswer = (result: LoadResponse, answer: LoadResponse, line: number): void => {
  result.count += answer.count
  result.skipped += answer.skipped
  result.failed += answer.failed
  const errors = answer.errors.slice(0, errorsMax - result.errors.length)
  result.errors.push(...errors.map((error) => ({ ...error, line: error.line + line - 1 })))
}

const failureOf = (error: unknown, line: number, result: LoadResponse, isAborted: boolean): LoadError => {
  const isOurs = error instanceof CubbyError
  // A source may itself fail with the error of another load.
  if (isOurs && !(error instanceof LoadError)) result.count += error.count ?? 0
  const code = isOurs ? error.code : isAborted ? 'outcome_unknown' : 'invalid_request'
  const message = `${line === 1 ? '' : `From line ${line} on: `}${(error as Error)?.message ?? error}`
  return new LoadError(code, message, line, result, { ...(error as ErrorDetails), cause: error })
}

/** `path` is that of the table. */
export const load = async (
  send: Send,
  path: string,
  source: LoadSource<never>,
  { signal, timeoutMs, retries, repeatWrites, onProgress, ...parameters }: LoadOptions,
): Promise<LoadResponse> => {
  signal?.throwIfAborted()
  const result: LoadResponse = { count: 0, skipped: 0, failed: 0, errors: [] }
  const loadPath = listPath(`${path}/load`, parameters)
  const headers = { 'content-type': 'application/x-ndjson' }
  let line = 1
  let refused: LoadLineError | undefined
  try {
    for await (const { body, lines } of partsOf(source, signal)) {
      const answer = await send<LoadResponse>(
        // The same lines leave the same records, however often they are sent.
        { method: 'POST', path: loadPath, effect: 'once', body, headers, waitMs },
        { signal, timeoutMs, retries },
      )
      addAnswer(result, answer, line)
      if (parameters.onError !== 'skip') refused = result.errors[0]
      if (refused) break
      line += lines
      onProgress?.({ ...result })
    }
  } catch (error) {
    throw failureOf(error, line, result, signal?.aborted === true)
  }
  if (!refused) return result
  const { code, message, field } = refused
  throw new LoadError(code, `Line ${refused.line}: ${message}`, refused.line, result, { status: 200, field })
}
