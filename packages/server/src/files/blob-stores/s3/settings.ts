import { OperatorError } from '../../../core/operator-error.ts'

/** The location of the objects, and the credentials of the requests. */
export interface S3Settings {
  bucket: string
  /** The prefix without slashes at its ends; empty if there is none. */
  prefix: string
  /** `https://s3.eu-central-1.amazonaws.com`, without a slash at its end. */
  endpoint: string
  /** True if AWS_ENDPOINT_URL is set. */
  endpointIsGiven: boolean
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Temporary credentials have a session token, others have none. */
  sessionToken: string | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

/** `s3://BUCKET/PREFIX`, for messages. */
export const describeS3 = ({ bucket, prefix }: Pick<S3Settings, 'bucket' | 'prefix'>): string =>
  prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`

/** The path of an object in the bucket. */
export const objectUrl = ({ endpoint, bucket, prefix }: S3Settings, name: string): string =>
  [endpoint, bucket, ...(prefix === '' ? [] : [prefix]), name].join('/')

/** Reads `--files s3://BUCKET/PREFIX` and the variables of AWS. The messages name what is wrong and no secret. */
export const readS3Settings = (url: string, env: Environment): S3Settings => {
  const { bucket, prefix } = parseBucketUrl(url)
  const region = requireVariable(env, 'AWS_REGION', regionForm, 'such as eu-central-1; other servers take us-east-1')
  const accessKeyId = requireVariable(env, 'AWS_ACCESS_KEY_ID', credentialForm, 'of visible ASCII characters')
  const secretAccessKey = requireVariable(env, 'AWS_SECRET_ACCESS_KEY', credentialForm, 'of visible ASCII characters')
  const sessionToken = env.AWS_SESSION_TOKEN || undefined
  if (sessionToken !== undefined && !credentialForm.test(sessionToken)) throw malformed('AWS_SESSION_TOKEN')
  const given = env.AWS_ENDPOINT_URL || undefined
  return {
    bucket,
    prefix,
    endpoint: given === undefined ? `https://s3.${region}.amazonaws.com` : parseEndpoint(given),
    endpointIsGiven: given !== undefined,
    region,
    accessKeyId,
    secretAccessKey,
    sessionToken,
  }
}

const regionForm = /^[a-z0-9][a-z0-9-]{0,62}$/
const credentialForm = /^[\x21-\x7e]+$/

// Allows only characters that no URL and no signature encodes: servers differ in how they treat the others.
const bucketForm = /^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/
const segmentForm = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/
const prefixCharactersMax = 512

const parseBucketUrl = (url: string): { bucket: string; prefix: string } => {
  const [, bucket = '', rest = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/s.exec(url) ?? []
  const prefix = rest.replace(/\/$/, '')
  const isPrefix = prefix.length <= prefixCharactersMax && prefix.split('/').every((part) => segmentForm.test(part))
  if (bucketForm.test(bucket) && (prefix === '' || isPrefix)) return { bucket, prefix }
  // The text before an @ may be a password.
  const shown = url.includes('@') ? '' : ` is "${url}"; it`
  throw new OperatorError(
    `--files${shown} takes s3://BUCKET/PREFIX: the name of a bucket, and a prefix of letters, digits and . _ ~ - with / ` +
      'between its parts. Credentials are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  )
}

const requireVariable = (env: Environment, name: string, form: RegExp, what: string): string => {
  const value = env[name]
  if (value === undefined || value === '') {
    throw new OperatorError(`--files s3://… needs ${name} in the environment, ${what}; it is not set`)
  }
  if (!form.test(value)) throw malformed(name)
  return value
}

/** The message leaves out the value: it may be a secret that was put into the wrong variable. */
const malformed = (name: string): OperatorError =>
  new OperatorError(`${name} has a space, a line break or another character that does not belong there; set it again`)

const parseEndpoint = (text: string): string => {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  const isPlain = url !== null && url.username === '' && url.password === '' && !/[?#]/.test(text)
  const path = url?.pathname.replace(/\/+$/, '') ?? ''
  const isPath =
    path === '' ||
    path
      .slice(1)
      .split('/')
      .every((part) => segmentForm.test(part))
  if (isPlain && isPath) return url.origin + path
  const shown = text.includes('@') ? '' : ` is "${text}"; it`
  throw new OperatorError(
    `AWS_ENDPOINT_URL${shown} takes an http or https address without user, query and fragment, such as https://minio.example.com:9000`,
  )
}
