import { randomBytes } from 'node:crypto'

const callersOwn = /^[\x21-\x7e]{1,128}$/
const prefix = randomBytes(6).toString('base64url')
let count = 0

/** The caller's own id if it is safe in a header and a log; otherwise a new, unique one. */
export const requestIdOf = (headers: Headers): string => {
  const given = headers.get('x-request-id')
  if (given !== null && callersOwn.test(given)) return given
  count++
  return `${prefix}-${count.toString(36)}`
}
