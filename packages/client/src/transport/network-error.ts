interface RuntimeError {
  message?: string
  /** Node and Bun have one; browsers and Deno do not. */
  code?: string
  cause?: RuntimeError
  errors?: RuntimeError[]
}

/**
 * Node's fetch says "fetch failed" and has the reason in `cause`. If the host has several addresses, `cause` has no message
 * of its own, but one error for each address.
 */
const innermost = (error: RuntimeError, depthMax = 4): RuntimeError => {
  const inner = error.errors?.[0] ?? error.cause
  return inner instanceof Error && depthMax > 0 ? innermost(inner, depthMax - 1) : error
}

const advice = [
  [/REFUSED/, 'Nothing listens there: start the server, or correct url.'],
  [/ENOTFOUND|EAI_AGAIN/, 'Correct the host in url.'],
  [/CERT|SSL|TLS|SIGNATURE|EPROTO/, 'Check the certificate, and whether the server has https.'],
] as const

/** Browsers give no reason, so that a page learns nothing about other hosts. */
const usualReasons =
  'Is the server running? In a browser it may also be mixed content (http from an https page) or CORS.'

/** Says why a request got no response, and what to do about it. */
export const describeNetworkError = (error: unknown): { why: string; hint: string | undefined } => {
  const { message, code } = innermost(Object(error))
  const text = (message || String(error)).trim()
  return {
    why: !code || text.includes(code) ? text : `${text} (${code})`,
    hint: code ? advice.find(([pattern]) => pattern.test(code))?.[1] : usualReasons,
  }
}
