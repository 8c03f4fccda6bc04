import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { newBucketId } from '../../src/core/files/bucket-id.ts'
import { requestHeadBytesMax } from '../../src/core/limits.ts'
import { type Server, startServer } from '../harness.ts'
import { makeBucket } from '../http/bucket.ts'
import { Wire } from './wire.ts'

// Anybody can send these requests: they carry no key, or a wrong one. If the server decoded, sorted or compared all that fits
// into the head of a request before it refuses, a few connections would keep the thread that serves everybody.

setDefaultTimeout(120_000)

let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  expect(await server.stop()).toBe(0)
})

const canReadTimes = existsSync('/proc/self/task')

/** The time that the thread that serves has had on a processor: other processes do not count. */
const threadNs = (): number =>
  Number(readFileSync(`/proc/${server.pid}/task/${server.pid}/schedstat`, 'utf8').split(' ')[0])

const headOf = (line: string, ...headers: string[]): Buffer => {
  const hosts = headers.some((header) => header.startsWith('Host:')) ? [] : [`Host: 127.0.0.1:${server.port}`]
  return Buffer.from(`${line} HTTP/1.1\r\n${[...hosts, ...headers].join('\r\n')}\r\n\r\n`)
}

/** Repeats the part as often as a head has room for. */
const filled = (part: string): string => part.repeat(Math.floor((requestHeadBytesMax - 1_500) / part.length))
const distinct = filled('x')
  .split('')
  .flatMap((_, i) => (i % 5 === 0 ? [(i + 50_000).toString(36)] : []))

const bucketId = newBucketId()
const file = `/files/${bucketId}/a`

/** Refused, or answered without a look at more than a little of it. */
const costly: Record<string, [line: string, ...headers: string[]]> = {
  'a forged signature with thousands of parameters': [`GET ${file}?signature=x&${filled('a=1&')}`],
  'a forged upload with thousands of parameters': [`PUT ${file}?${filled('a=1&')}signature=x`, 'Content-Length: 0'],
  'sixteen long parameters with a signature': [
    `GET ${file}?${Array(15)
      .fill(`a=${'%41'.repeat(100)}`)
      .join('&')}&signature=x`,
  ],
  'thousands of parameters without a signature': [`GET ${file}?${filled('a=1&')}`],
  'a long Accept at the entry point': ['GET /', `Accept: ${filled('a,')}`],
  'a long Accept of different types': ['GET /', `Accept: ${distinct.join(',')}`],
  'a long Accept with parameters': ['GET /', `Accept: ${filled('a;q=1,')}`],
  'a long Accept-Encoding for a page': ['GET /llms.txt', `Accept-Encoding: ${filled('a,')}`],
  'a long If-None-Match for a page': ['GET /llms.txt', `If-None-Match: ${filled('"",')}`],
  'a long path that no route has': [`GET /v1${filled('/a')}/%`],
  'a long path of the console': [`GET /console/${filled('9')}`],
  'a long path with another method': [`PATCH /v1/a/b/${filled('a.')}`],
  'a long Origin': ['POST /mcp', 'Content-Length: 0', `Origin: http://${filled('%C3%BC')}`],
  'a long Host': ['POST /mcp', 'Content-Length: 0', `Host: ${filled('a:')}`],
  'a long Authorization': ['GET /v1/a/b/c', `Authorization: Bearer ${filled(' ')}a b`],
  'no key, thousands of parameters': [`GET /v1/a/b/c?${filled('key&')}`],
}

/** The same for everybody who has the public key of a page, or the URL of a public file. */
const costlyForReaders = (key: string, publicFile: string): typeof costly => {
  const withKey = `Authorization: Bearer ${key}`
  return {
    'thousands of parameters that nobody knows': [`GET /v1?${filled('a=1&')}`, withKey],
    'the same with a body to read': [`POST /v1/a/b/query?${filled('a=1&')}`, withKey, 'Content-Length: 0'],
    'the same at /mcp': [`POST /mcp?${filled('a=1&')}`, withKey, 'Content-Length: 0'],
    'thousands of parameters at a permanent URL': [`GET ${publicFile}?${filled('a=1&')}`],
    'a long name to save it as': [`GET ${publicFile}?download=${filled('%41')}`],
    'a long If-None-Match for a file': [`GET ${publicFile}`, `If-None-Match: ${filled('"",')}`],
    'a long If-Match for a file': [`GET ${publicFile}`, `If-Match: ${filled('"",')}`],
    'a long Range of a file': [`GET ${publicFile}`, `Range: bytes=${filled('0-1,')}`],
  }
}

const requestsOfRound = 25
const rounds = 8

/** The least time that a request took, as the mean of a round. */
const leastNs = async (wire: Wire, head: Buffer): Promise<number> => {
  let leastNs = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const before = threadNs()
    for (let i = 0; i < requestsOfRound; i++) {
      wire.send(head)
      await wire.answer()
    }
    leastNs = Math.min(leastNs, (threadNs() - before) / requestsOfRound)
  }
  return leastNs
}

/** Returns how much more each of them costs than a request of the same size that is answered at once. */
const expectCheap = async (plain: Buffer, requests: typeof costly, timesMax: number): Promise<void> => {
  const wire = await Wire.open(server.port)
  // The first rounds are those in which the server compiles.
  await leastNs(wire, plain)
  const plainNs = await leastNs(wire, plain)
  const times: Record<string, number> = {}
  for (const [name, [line, ...headers]] of Object.entries(requests)) {
    times[name] = (await leastNs(wire, headOf(line, ...headers))) / plainNs
  }
  wire.close()
  const shown = Object.entries(times).map(([name, ratio]) => `${ratio.toFixed(1).padStart(6)} ${name}`)
  console.log([`a plain one: ${(plainNs / 1000).toFixed(0)} µs; times that:`, ...shown].join('\n'))
  expect(Object.entries(times).filter(([, ratio]) => ratio > timesMax)).toEqual([])
}

test.skipIf(!canReadTimes)('no request without a key costs much more than to receive it', async () => {
  // The plain one takes 20 µs or 35, from run to run, and the costliest of these always 165. What was read to its end took half a
  // millisecond at least, and thousands of decoded parameters 2.
  await expectCheap(headOf(`GET /healthz?${filled('a')}`), costly, 12)
})

test.skipIf(!canReadTimes)(
  'nor does one with a public key, or to a public file, cost much more than a plain one',
  async () => {
    const { secretKey, publicKey } = await server.createOrganization()
    const bucket = await makeBucket(server.as(secretKey))
    await bucket.put('a.txt', 'a', { query: { visibility: 'public' } })
    const publicFile = `/files/${bucket.created.id}/a.txt`
    await expectCheap(headOf(`GET ${publicFile}?${filled('a')}`), costlyForReaders(publicKey, publicFile), 4)
  },
)
