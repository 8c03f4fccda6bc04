import { CubbyError } from '../../../core/errors.ts'
import { repeatLater } from '../../../core/hint.ts'
import { OperatorError } from '../../../core/operator-error.ts'
import { BlobStoreRefused } from '../../../store/blob-store.ts'
import { describeS3, type S3Settings } from './settings.ts'

// The only file that interprets statuses and codes of S3.

/**
 * A request that S3 refused, or that it did not answer. It keeps the code and the status, never the text of the answer: that
 * repeats parts of the request.
 */
export class S3Failure extends Error {
  /** Undefined if there was no answer. */
  readonly status: number | undefined
  /** The `Code` of S3's answer, or that of the failed connection. */
  readonly code: string | undefined
  /** The region of the bucket, where S3 tells it. */
  readonly region: string | undefined

  constructor(what: string, response: { status?: number; code?: string; region?: string } = {}) {
    super([what, response.status, response.code].filter((part) => part !== undefined).join(' '))
    this.status = response.status
    this.code = response.code
    this.region = response.region
  }
}

const retryableStatuses = [429, 500, 502, 503, 504]
const retryableCodes = ['RequestTimeout', 'OperationAborted', 'ConditionalRequestConflict']

/** Tells whether the same request may succeed later. Every request of a place can be repeated: blobs are immutable. */
export const isRetryable = (error: unknown): boolean => {
  if (!(error instanceof S3Failure)) return false
  const { status, code } = error
  return status === undefined || retryableStatuses.includes(status) || retryableCodes.includes(code ?? '')
}

/** There is no such object. A 404 alone is not certain: it may be about the bucket, or come from a proxy. */
export const isMissing = (error: unknown): boolean => error instanceof S3Failure && error.code === 'NoSuchKey'

/** S3 answered, but not with the bytes that were asked for: the object may be shorter. */
export const isOtherRange = (error: unknown): boolean =>
  error instanceof S3Failure && [200, 206, 416].includes(error.status ?? 0)

/** Conditions of writes are newer than S3: the server does not know them. */
export const lacksConditions = ({ status, code }: S3Failure): boolean =>
  status === 501 || code === 'NotImplemented' || code === 'InvalidArgument'

const fullCodes = ['QuotaExceeded', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'InsufficientStorage']

/** The error for the caller; the operator sees the cause. */
export const toCallersError = (failure: S3Failure): CubbyError => {
  const { status, code } = failure
  if (status === 507 || fullCodes.includes(code ?? '')) {
    return new CubbyError('storage_full', 'The storage of the files has no space left. Nothing was stored.', {
      hint: 'The operator has to make room; downloads still work.',
      cause: failure.message,
    })
  }
  const refused = status !== undefined && status < 500 && !isRetryable(failure)
  return new CubbyError(
    'unavailable',
    `The storage of the files ${refused ? 'refused a request' : 'cannot be reached'}.`,
    {
      hint: refused ? 'The operator has to look at it: the log of the server has the cause.' : repeatLater,
      cause: failure.message,
    },
  )
}

const rights = 's3:GetObject, s3:PutObject and s3:DeleteObject on its objects, and s3:ListBucket on the bucket'

const connectReason = (code = ''): string | undefined => {
  if (/refused/i.test(code)) return 'nothing listens there'
  return /ENOTFOUND|EAI_|DNS|FailedToOpenSocket/.test(code) ? 'the host name is not known' : undefined
}

const startReason = ({ status, code, region, message }: S3Failure, settings: S3Settings): string => {
  const { bucket, endpoint } = settings
  const address = settings.endpointIsGiven ? 'AWS_ENDPOINT_URL' : 'AWS_REGION'
  switch (code) {
    case 'InvalidAccessKeyId':
      return 'it does not know the access key; set AWS_ACCESS_KEY_ID'
    case 'SignatureDoesNotMatch':
      return 'the signature is wrong; set AWS_SECRET_ACCESS_KEY to the secret of AWS_ACCESS_KEY_ID'
    case 'ExpiredToken':
    case 'InvalidToken':
      return 'the session token is not valid; set AWS_SESSION_TOKEN again, or unset it'
    case 'RequestTimeTooSkewed':
      return "the clock of this machine differs from the server's by more than 15 minutes; set it"
    case 'NoSuchBucket':
      return `there is no bucket ${bucket}; create it, or give another one in --files`
    case 'PermanentRedirect':
    case 'TemporaryRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
      return region === undefined
        ? 'the bucket is in another region; set AWS_REGION'
        : `the bucket is in the region ${region}; set AWS_REGION=${region}`
  }
  if (status === 401 || status === 403) {
    return `access is denied (${status}${code === undefined ? '' : ` ${code}`}); AWS_ACCESS_KEY_ID needs ${rights}`
  }
  if (status === undefined) return `no answer from ${endpoint}: ${connectReason(code) ?? message}; check ${address}`
  if (status >= 500) return `${endpoint} failed (${status}${code === undefined ? '' : ` ${code}`})`
  return `${endpoint} answered ${status}${code === undefined ? ', but not as S3 does' : ` ${code}`}; check ${address}`
}

/**
 * Returns why a blob store cannot be used, in one line. It is BlobStoreRefused if that will not change by itself: a setting is
 * wrong.
 */
export const toStartError = (error: unknown, settings: S3Settings): unknown => {
  if (!(error instanceof S3Failure)) return error
  const line = `${describeS3(settings)} cannot be used: ${startReason(error, settings)}`
  return isRetryable(error) ? new OperatorError(line) : new BlobStoreRefused(line)
}
