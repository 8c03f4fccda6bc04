import { refusal } from './errors.ts'

/** What was passed as `url`, for a message: without a password, and without an API key that was passed by mistake. */
const show = (given: unknown): string => `"${given}"`.replace(/svc_\w+|[^"/]*@/g, '…')

/** The start of every request's address, without a slash at the end. */
export const parseAddress = (given: unknown): string => {
  let url: URL | undefined
  try {
    url = new URL(given as string)
  } catch {}
  // `localhost:4600` is a URL too: its scheme is `localhost`. A query would end up in the middle of the address, and
  // `fetch` rejects a user name or password.
  if (!url || !/^https?:/.test(url.protocol) || url.username + url.password + url.search + url.hash) {
    const wanted =
      'it takes http:// or https:// and a host, such as http://127.0.0.1:4600, without user, password and query.'
    throw refusal('invalid_request', 'url', `is ${show(given)}; ${wanted}`)
  }
  return url.href.replace(/\/+$/, '')
}

/**
 * Rejects what the service could only reject, before a request. A line break must not reach `fetch`: some runtimes have
 * the whole header in their error.
 */
export const checkApiKey = (given: unknown): void => {
  if (typeof given === 'string' && /^svc_(live|pub)_[0-9A-Za-z]{38}$/.test(given)) return
  const missing = given == null || given === ''
  const found = missing
    ? 'missing'
    : typeof given === 'string'
      ? `malformed (${given.length} characters)`
      : typeof given
  const wanted = 'it takes an API key: svc_live_ or svc_pub_ and 38 letters and digits.'
  throw refusal(missing ? 'missing_api_key' : 'invalid_api_key', 'key', `is ${found}; ${wanted}`)
}
