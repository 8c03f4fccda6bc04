import { matches, refusal } from './errors.ts'

/** Shows the `url` that was passed, for a message: without a password, and without a key or token that was passed by mistake. */
const show = (given: unknown): string => `"${given}"`.replace(/svc_[\w-]+|[^"/]*@/g, '…')

/** The start of every request's address, without a slash at the end. */
export const parseAddress = (given: unknown): string => {
  let address = ''
  try {
    address = new URL(given as string).href
  } catch {}
  // `localhost:4600` is a URL too: its scheme is `localhost`. A query, even an empty one, would end up in the middle of the
  // address, and `fetch` rejects a user name or password. With /v1 at the end, `app` would be a table of the database `v1`.
  if (!/^https?:\/\/(?!.*\/v1\/*$)[^@?#]+$/.test(address)) {
    const wanted =
      'it takes http:// or https:// and a host, such as http://127.0.0.1:4600, without user, password, query and /v1.'
    throw refusal('invalid_request', 'url', `is ${show(given)}; ${wanted}`)
  }
  return address.replace(/\/+$/, '')
}

/**
 * Rejects what the service could only reject, before a request. A line break must not reach `fetch`: some runtimes have
 * the whole header in their error.
 */
export const checkApiKey = (given: unknown): void => {
  if (matches(/^svc_(live|pub)_[0-9A-Za-z]{38}$/, given)) return
  const missing = given == null || given === ''
  const found = missing
    ? 'missing'
    : typeof given === 'string'
      ? `malformed (${given.length} characters)`
      : typeof given
  const message = `is ${found}; it takes an API key: svc_live_ or svc_pub_ and 38 letters and digits.`
  const hint = matches(/^svc_user_/, given) ? 'Pass a user token as token, not as key.' : undefined
  throw refusal(missing ? 'missing_api_key' : 'invalid_api_key', 'key', message, hint)
}
