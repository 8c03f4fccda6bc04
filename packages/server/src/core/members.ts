import { describeValue } from './describe-value.ts'
import { CubbyError } from './errors.ts'
import { similarName } from './similar-name.ts'

export type Members = Record<string, unknown>

/** A JSON object. Otherwise throws an error that names the value found. */
export const parseObject = (value: unknown, field?: string): Members => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members
  throw new CubbyError(
    'invalid_request',
    `${field ?? 'The body'} is ${describeValue(value)}; it takes a JSON object.`,
    {
      field,
    },
  )
}

/** Names of other services for our fields. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  hashKey: ['id', '_id', 'key', 'pk', 'partitionKey', 'primaryKey'],
  rangeKey: ['sk', 'sortKey'],
  data: ['value', 'body', 'document', 'attributes', 'item', 'record'],
  ttl: ['expires', 'expiresAt', 'expireAt', 'expiry'],
  records: ['record', 'items', 'operations', 'keys'],
  keys: ['ids', 'records'],
  id: ['idempotencyKey', 'jobId', 'deduplicationId'],
  delaySeconds: ['delay'],
  timezone: ['tz', 'timeZone'],
  attempts: ['retries', 'maxAttempts', 'maxRetries'],
  leaseSeconds: ['timeout', 'visibilityTimeout'],
  url: ['webhook', 'endpoint', 'target'],
  db: ['database'],
  payload: ['data', 'input', 'args', 'arguments', 'params'],
  run: ['id', 'runId'],
  hashField: ['field', 'hash', 'name', 'hashKey'],
  rangeField: ['range', 'sort', 'sortField', 'rangeKey'],
  kind: ['type', 'role'],
}

/** The known field that an unknown one stands for, if the request does not have that too. */
export const fieldMeant = (name: string, members: Members, known: readonly string[]): string | undefined => {
  const free = known.filter((field) => !Object.hasOwn(members, field))
  return free.find((field) => otherNames[field]?.includes(name)) ?? similarName(name, free)
}

const recordFields = ['hashKey', 'rangeKey', 'data', 'ttl']

const unknownHint = (name: string, members: Members, known: readonly string[]): string => {
  if (known.length === 0) return 'It takes none.'
  const list = known.find((field) => field === 'records' || field === 'keys')
  if (list !== undefined && recordFields.includes(name)) return `It belongs into ${list}: [{ "${name}": … }].`
  const meant = fieldMeant(name, members, known)
  if (meant !== undefined) return `Write it as "${meant}".`
  const takes = `Known fields: ${known.join(', ')}.`
  if (known.includes('payload')) return `Put the input of the run into payload. ${takes}`
  return known.includes('data') ? `Put the contents of the record into data. ${takes}` : takes
}

/** An unknown member is rejected by name: a typo must not be ignored. */
export const refuseUnknownMembers = (members: Members, known: readonly string[], prefix = ''): void => {
  for (const name in members) {
    if (known.includes(name)) continue
    const field = `${prefix}${name.length > 80 ? `${name.slice(0, 80)}…` : name}`.toWellFormed()
    throw new CubbyError('invalid_request', `${field} is not a field of this request.`, {
      field,
      hint: unknownHint(name, members, known),
    })
  }
}

/** The hint for a number or a flag that is written as a string; undefined if it is not. */
export const asJson = (value: unknown, type: 'number' | 'boolean'): string | undefined => {
  const written = type === 'number' ? /^[0-9]{1,15}$/ : /^(?:true|false)$/
  return typeof value === 'string' && written.test(value) ? `Write it as ${value}.` : undefined
}

/** `limit` of pages and listings: a value above `most` is not an error, because the cursor shows that there is more. */
export const parseLimit = (value: unknown, absent: number, most: number): number => {
  if (value === undefined) return absent
  // An integer of more than 308 digits is read as infinity, which is above `most` too.
  const isCount = typeof value === 'number' && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY)
  if (!isCount || value < 1) {
    throw new CubbyError('invalid_request', `limit is ${describeValue(value)}; it takes an integer of at least 1.`, {
      field: 'limit',
      hint: asJson(value, 'number') ?? `Leave limit out for ${absent}, or give 1 to ${most}.`,
    })
  }
  return Math.min(value, most)
}

/** true or false; absent is false. */
export const parseFlag = (value: unknown, field: string): boolean => {
  if (value === undefined || value === false) return false
  if (value === true) return true
  throw new CubbyError('invalid_request', `${field} is ${describeValue(value)}; it takes true or false.`, {
    field,
    hint: asJson(value, 'boolean'),
  })
}
