import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { OperatorError } from '../../src/core/operator-error.ts'
import { readS3Settings } from '../../src/files/blob-stores/s3/settings.ts'
import { openS3BlobStore, type S3Options } from '../../src/files/blob-stores/s3.ts'
import { makeTempDir, removeTempDir } from '../harness.ts'
import { newId } from './s3-blobs.ts'
import { S3TestServer } from './s3-test-server.ts'

// A wrong setting must stop the start with a line that says what to change. Later it would be a failed upload.

setDefaultTimeout(120_000)

let server: S3TestServer
let spoolDirectory = ''
beforeAll(async () => {
  spoolDirectory = makeTempDir()
  server = await S3TestServer.start()
})
afterAll(async () => {
  await server.stop()
  removeTempDir(spoolDirectory)
})

const secrets = ['se/cr+et=', 'wrong-secret', 'hunter2']

/** The line that the operator sees; undefined if the place opens. */
const refusal = async (
  env: Record<string, string | undefined> = {},
  url = `s3://${server.bucket}/pre`,
  options: S3Options = {},
): Promise<string | undefined> => {
  const all = { ...server.env, ...env }
  try {
    const blobStore = await openS3BlobStore(url, all, undefined, { spoolDirectory, timing: { pauseMs: 1 }, ...options })
    await blobStore.close()
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(OperatorError)
    const { message } = error as Error
    expect(message).not.toContain('\n')
    for (const secret of secrets) expect(message).not.toContain(secret)
    return message
  }
}

describe('variables', () => {
  test.each(['AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])('%s must be set', async (name) => {
    expect(await refusal({ [name]: undefined })).toStartWith(`--files s3://… needs ${name} in the environment`)
    expect(await refusal({ [name]: '' })).toStartWith(`--files s3://… needs ${name} in the environment`)
    expect(await refusal({ [name]: 'hunter2\r' })).toStartWith(`${name} has a space, a line break`)
  })

  test.each([
    '127.0.0.1:9000',
    'ftp://127.0.0.1',
    'https://user:hunter2@127.0.0.1',
    'https://127.0.0.1/?a=b',
    'https://127.0.0.1/a%20b',
    'http://',
  ])('AWS_ENDPOINT_URL %s is refused', async (AWS_ENDPOINT_URL) => {
    expect(await refusal({ AWS_ENDPOINT_URL })).toContain('takes an http or https address')
  })

  test('AWS_ENDPOINT_URL may end with a slash', async () => {
    expect(await refusal({ AWS_ENDPOINT_URL: `${server.endpoint}/` })).toBeUndefined()
  })

  test('AWS_ENDPOINT_URL may have a path, which is signed too', async () => {
    // The server takes the first segment for the bucket, so the signature was right.
    expect(await refusal({ AWS_ENDPOINT_URL: `${server.endpoint}/storage/v1` })).toContain('there is no bucket')
  })

  test('AWS_SESSION_TOKEN is sent and signed if it is set', async () => {
    expect(await refusal({ AWS_SESSION_TOKEN: 'hunter2' })).toContain('set AWS_SESSION_TOKEN again, or unset it')
    server.account.sessionToken = 'hunter2'
    expect(await refusal({ AWS_SESSION_TOKEN: 'hunter2' })).toBeUndefined()
    server.account.sessionToken = undefined
    expect(await refusal({ AWS_SESSION_TOKEN: '' })).toBeUndefined()
  })

  test('without AWS_ENDPOINT_URL the address is that of the region', () => {
    const { AWS_ENDPOINT_URL: _, ...env } = server.env
    expect(readS3Settings('s3://bucket/pre', env).endpoint).toBe('https://s3.eu-test-1.amazonaws.com')
  })

  test('an address without TLS is logged, unless it is this machine', async () => {
    const lines: unknown[][] = []
    const open = (AWS_ENDPOINT_URL: string) =>
      openS3BlobStore('s3://bucket', { ...server.env, AWS_ENDPOINT_URL }, (...line) => void lines.push(line), {
        spoolDirectory,
        timing: { attemptsMax: 1, responseMsMax: 1 },
      }).catch(() => {})
    await open(server.endpoint)
    expect(lines).toEqual([])
    // This machine too, so that nothing is sent, but not by a name that says so.
    await open('http://0.0.0.0:1')
    expect(lines).toEqual([['warn', 'the connection to S3 is not encrypted; give AWS_ENDPOINT_URL an https address']])
  })
})

describe('--files', () => {
  test.each([
    's3://',
    's3:///pre',
    's3://-bucket/pre',
    's3://bucket/a//b',
    's3://bucket/../other',
    's3://bucket/./a',
    's3://bucket/a b',
    's3://bucket/a%20b',
    's3://bucket/ä',
    's3://bucket/a?b',
    's3://bucket/a#b',
    's3://bucket/a\nb',
    's3://key:hunter2@bucket/a',
    `s3://bucket/${'a'.repeat(513)}`,
    'S3://bucket/a',
  ])('%j is refused', async (url) => {
    const line = await refusal({}, url.replace('\n', '\t'))
    expect(line).toContain('takes s3://BUCKET/PREFIX')
  })

  test.each(['', '/', '/pre', '/pre/', '/a/b-c_d.e~f'])('the prefix %j is taken', async (prefix) => {
    expect(await refusal({}, `s3://${server.bucket}${prefix}`)).toBeUndefined()
  })

  test('a slash at the end changes nothing', async () => {
    const open = (url: string) => openS3BlobStore(url, server.env, undefined, { spoolDirectory })
    const [one, other] = [await open(`s3://${server.bucket}/p`), await open(`s3://${server.bucket}/p/`)]
    expect(await one.writeMark('same')).toBe('same')
    expect([await other.readMark(), other.description]).toEqual(['same', `s3://${server.bucket}/p`])
    await Promise.all([one.close(), other.close()])
  })
})

describe('what S3 refuses', () => {
  test.each([
    ['another secret', { AWS_SECRET_ACCESS_KEY: 'wrong-secret' }, 'set AWS_SECRET_ACCESS_KEY'],
    ['another access key', { AWS_ACCESS_KEY_ID: 'AKOTHER' }, 'set AWS_ACCESS_KEY_ID'],
    ['another region', { AWS_REGION: 'eu-test-2' }, 'the bucket is in another region; set AWS_REGION'],
  ])('%s', async (_, env, says) => {
    expect(await refusal(env)).toContain(says)
  })

  test('a bucket that does not exist', async () => {
    expect(await refusal({}, 's3://other/pre')).toBe(
      's3://other/pre cannot be used: there is no bucket other; create it, or give another one in --files',
    )
  })

  test('access', async () => {
    server.faults = [{ method: 'GET', answer: { status: 403, code: 'AccessDenied' } }]
    expect(await refusal()).toContain('access is denied (403 AccessDenied); AWS_ACCESS_KEY_ID needs s3:GetObject')
  })

  test('the region, if it tells the right one', async () => {
    const headers = { 'x-amz-bucket-region': 'eu-west-1', Location: 'http://127.0.0.1:1/' }
    server.faults = [{ method: 'GET', answer: { status: 301, code: 'PermanentRedirect', headers } }]
    expect(await refusal()).toEndWith('the bucket is in the region eu-west-1; set AWS_REGION=eu-west-1')
  })

  test('the clock', async () => {
    server.skewMs = 20 * 60_000
    expect(await refusal()).toContain('the clock of this machine')
    server.skewMs = 0
  })

  test('an address where nothing listens, or something that is not S3', async () => {
    expect(await refusal({ AWS_ENDPOINT_URL: 'http://127.0.0.1:1' })).toMatch(
      /no answer from http:\/\/127\.0\.0\.1:1: nothing listens there; check AWS_ENDPOINT_URL$/,
    )
    server.faults = [{ method: 'GET', answer: { status: 404, body: '<html>Not found</html>' } }]
    expect(await refusal()).toContain('answered 404, but not as S3 does; check AWS_ENDPOINT_URL')
  })
})

test('a directory for temporary files that is none', async () => {
  const missing = join(spoolDirectory, 'missing')
  expect(await refusal({}, undefined, { spoolDirectory: missing })).toMatch(
    /missing is none \(.*ENOENT.*\); set TMPDIR$/,
  )
})

test('a start that fails writes no line into the log', async () => {
  const lines: unknown[] = []
  server.faults = [{ method: 'GET', answer: { status: 403, code: 'AccessDenied' } }]
  await openS3BlobStore(`s3://${server.bucket}`, server.env, (...line) => void lines.push(line)).catch(() => {})
  expect(lines).toEqual([])
})

test('an id that is not that of a blob never becomes a path', async () => {
  const blobStore = await openS3BlobStore(`s3://${server.bucket}`, server.env, undefined, { spoolDirectory })
  for (const id of ['../../cubby-mark', '', newId().toUpperCase().replace(/^\d/, 'A')]) {
    expect(blobStore.size(id)).rejects.toThrow('not the id of a blob')
    expect(blobStore.remove(id)).rejects.toThrow('not the id of a blob')
  }
  await blobStore.close()
})
