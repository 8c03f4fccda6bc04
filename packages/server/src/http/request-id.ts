import { randomBytes } from 'node:crypto'

const callersOwn = /^[\x21-\x7e]{1,128}$/
const idCharacters = 20
/** Random bytes for so many ids are taken at once: then an id costs no more than a counter would. */
const idsTogether = 256

let ids = ''
let next = 0

/**
 * The caller's own id if it is safe in a header and a log; otherwise a new, random one. A counter would tell each caller how
 * many requests others send.
 */
export const requestIdOf = (headers: Headers): string => {
  const given = headers.get('x-request-id')
  if (given !== null && callersOwn.test(given)) return given
  if (next === ids.length) {
    ids = randomBytes((idsTogether * idCharacters) / 2).toString('hex')
    next = 0
  }
  next += idCharacters
  return ids.slice(next - idCharacters, next)
}
