/** An error answer of the API, or a request that got no answer (`code` is then `no_answer`). */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | undefined,
    readonly field: string | undefined,
    readonly requestId: string | undefined,
  ) {
    super(message)
  }
}

export const noAnswer = (): ApiError =>
  new ApiError(
    0,
    'no_answer',
    'The server did not answer.',
    'It may be restarting, or the network may be down. What you typed is kept: try again.',
    undefined,
    undefined,
  )

/** `text` is the body of an answer with an error status; a proxy's page is not JSON. */
export const errorOf = (status: number, text: string, requestId: string | null): ApiError => {
  try {
    const { code, message, hint, field, requestId: id } = JSON.parse(text).error
    if (typeof code === 'string' && typeof message === 'string') {
      return new ApiError(status, code, message, hint, field, id ?? requestId ?? undefined)
    }
  } catch {
    // The answer is not from Cubby.
  }
  return new ApiError(
    status,
    'unexpected_answer',
    `The answer has status ${status} and is not an answer of Cubby.`,
    'A proxy in front of the server may have sent it.',
    undefined,
    requestId ?? undefined,
  )
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The request may have been applied, or may still be. */
export const isUnknown = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'outcome_unknown' || error.code === 'no_answer' || isFromProxy(error))

const isFromProxy = ({ code, status }: ApiError): boolean => code === 'unexpected_answer' && status >= 500
