import { describeValue } from './describe-value.ts'
import { CubbyError } from './errors.ts'
import { pushUrlCharactersMax } from './limits.ts'

/** The field that has the URL, and what to do if it is wrong, too long, or has a user. */
interface UrlTexts {
  field: string
  hint: string
  lengthHint: string
  userHint: string
}

/** White space and control characters, which URL parsers drop without a word. */
const dropped = /[\s\u0000-\u001f\u007f]/

/** The form of a target, as it was sent. Whether its addresses may be pushed to is checked elsewhere. */
export const parsePushUrl = (value: unknown, { field, hint, lengthHint, userHint }: UrlTexts): string => {
  if (typeof value !== 'string' || dropped.test(value) || !value.isWellFormed() || !URL.canParse(value)) {
    throw new CubbyError('invalid_request', `${field} is ${describeValue(value)}; it takes a URL.`, { field, hint })
  }
  if (value.length > pushUrlCharactersMax) {
    throw new CubbyError(
      'invalid_request',
      `${field} has ${value.length} characters; it takes at most ${pushUrlCharactersMax}.`,
      { field, hint: lengthHint },
    )
  }
  const { protocol, username, password } = new URL(value)
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new CubbyError('push_target_refused', `${field} begins with ${JSON.stringify(protocol)}; it takes https.`, {
      field,
      hint,
    })
  }
  if (username !== '' || password !== '') {
    // The value is not repeated: it may be a password.
    throw new CubbyError('push_target_refused', `${field} has a user or a password.`, {
      field,
      hint: userHint,
    })
  }
  return value
}
