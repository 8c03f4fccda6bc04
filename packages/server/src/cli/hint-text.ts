import type { CubbyError, ErrorCode } from '../core/errors.ts'
import { hintText } from '../core/hint.ts'
import { shellLanguage } from '../operations/shell-hint.ts'

/** Codes for which a shell user needs a different hint. */
const ownHints: Partial<Record<ErrorCode, string>> = {
  missing_api_key: 'Set CUBBY_KEY or give --key.',
  invalid_api_key: 'Set CUBBY_KEY, or give --key, to an API key of this server.',
  read_only_key: 'Use a secret key (svc_live_…).',
  route_not_found: 'Give --url without a path, for example http://127.0.0.1:4600.',
  method_not_allowed: 'Give --url without a path, for example http://127.0.0.1:4600.',
}

/** An error in one line, for the user of the shell. */
export const errorLine = ({ code, message, hint }: CubbyError): string => {
  const text = ownHints[code] ?? (hint === undefined ? undefined : hintText(hint, shellLanguage))
  return text === undefined ? message : `${message} ${text}`
}
