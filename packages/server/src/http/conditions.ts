import { CubbyError } from '../core/errors.ts'
import type { Condition } from '../store/records.ts'

const refuse = (header: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', `${header} ${message}`, { field: header, hint })
}

/** Rejects conditions at routes that do not support them: a condition is never ignored. */
export const refuseConditions = (headers: Headers): void => {
  for (const header of ['If-Match', 'If-None-Match']) {
    if (headers.has(header))
      refuse(
        header,
        'is not allowed on this request.',
        'Conditions are allowed on GET, PUT, PATCH and DELETE of a record or a task.',
      )
  }
}

const versionTag = /^"(0|[1-9][0-9]{0,15})"$/
const strongTag = /^"[\x21\x23-\x7e\x80-\xff]*"$/
/** The version of no record: a well-formed tag that is not one of ours matches nothing. */
const noVersion = -1

const parseIfMatch = (value: string): Condition => {
  if (value === '*') return 'exists'
  const version = versionTag.exec(value)
  if (version !== null) return { version: Number(version[1]) }
  if (strongTag.test(value)) return { version: noVersion }
  return refuse(
    'If-Match',
    'is not one strong entity tag.',
    /^[0-9]{1,16}$/.test(value)
      ? `Write it with quotes: If-Match: "${value}".`
      : 'Send the ETag of a record unchanged, quotes included, for example "1767225600000"; or *.',
  )
}

/** The condition of a write. `If-None-Match` is allowed only where a record may be created, and only as `*`. */
export const parseWriteCondition = (
  headers: Headers,
  method: 'PUT' | 'PATCH' | 'DELETE',
  mayCreate = method === 'PUT',
): Condition | undefined => {
  const ifMatch = headers.get('if-match')
  const ifNoneMatch = headers.get('if-none-match')
  if (ifNoneMatch === null) return ifMatch === null ? undefined : parseIfMatch(ifMatch)
  if (!mayCreate) return refuse('If-None-Match', `is not allowed on ${method}.`, 'Use If-Match.')
  if (ifMatch !== null) return refuse('If-None-Match', 'cannot be combined with If-Match.', 'Send one condition.')
  if (ifNoneMatch !== '*') {
    return refuse(
      'If-None-Match',
      `takes only * on ${method}.`,
      'Send If-None-Match: * to create, If-Match to replace.',
    )
  }
  return 'absent'
}

/** Tells whether a read may be answered 304. Lists, weak tags and `*` work as HTTP defines. */
export const matchesIfNoneMatch = (headers: Headers, version: number | string): boolean => {
  const value = headers.get('if-none-match')
  if (value === null) return false
  // A tag has no quotes in it, so that this finds a whole one. A list may have thousands.
  return value.trim() === '*' || value.includes(`"${version}"`)
}

export const refuseIfMatchOnRead = (headers: Headers): void => {
  if (headers.has('if-match')) refuse('If-Match', 'is not allowed on GET.', 'Use If-None-Match to revalidate a copy.')
}

const prefers = (headers: Headers, preference: RegExp): boolean => {
  const value = headers.get('prefer')
  return value !== null && preference.test(value)
}

/** `Prefer: return=minimal`, alone or among other preferences, in upper or lower case. */
export const wantsMinimal = (headers: Headers): boolean =>
  prefers(headers, /(?:^|[,;])\s*return\s*=\s*"?minimal"?\s*(?:$|[,;])/i)

/** `Prefer: hints=shell`: the caller is a command of the shell. */
export const wantsShellHints = (headers: Headers): boolean =>
  prefers(headers, /(?:^|[,;])\s*hints\s*=\s*"?shell"?\s*(?:$|[,;])/i)
