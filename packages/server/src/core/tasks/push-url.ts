import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { pushUrlCharactersMax } from '../limits.ts'

const field = 'url'
const hint =
  'Give the address that takes the pushes, for example "https://example.com/tasks/mail"; without url, workers claim the runs.'

/** White space and control characters, which URL parsers drop without a word. */
const dropped = /[\s\u0000-\u001f\u007f]/

/** The form of a target, as it was sent. Whether its addresses may be pushed to is checked elsewhere. */
export const parsePushUrl = (value: unknown): string | null => {
  if (value === undefined) return null
  if (typeof value !== 'string' || dropped.test(value) || !value.isWellFormed() || !URL.canParse(value)) {
    throw new CubbyError('invalid_request', `url is ${describeValue(value)}; it takes a URL.`, { field, hint })
  }
  if (value.length > pushUrlCharactersMax) {
    throw new CubbyError(
      'invalid_request',
      `url has ${value.length} characters; it takes at most ${pushUrlCharactersMax}.`,
      { field, hint: 'Send what differs between runs in their payload.' },
    )
  }
  const { protocol, username, password } = new URL(value)
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new CubbyError('push_target_refused', `url begins with ${JSON.stringify(protocol)}; it takes https.`, {
      field,
      hint,
    })
  }
  if (username !== '' || password !== '') {
    // The value is not repeated: it may be a password.
    throw new CubbyError('push_target_refused', 'url has a user or a password.', {
      field,
      hint: 'Leave them out, and send credentials as "authorization".',
    })
  }
  return value
}
