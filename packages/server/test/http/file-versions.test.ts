import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, startServer } from '../harness.ts'
import { makeBucket, sha256, type TestBucket } from './bucket.ts'
import { ok, useService } from './service.ts'

// A file is replaced while others read it. Bytes of two versions, or a length of one with the bytes of another, would be a
// damaged file that no digest of ours ever saw.

const service = useService()
const mib = 1_048_576
const hourMs = 60 * 60_000

const open = (bucket: TestBucket, name: string): Promise<Response> =>
  fetch(bucket.api.server.url + bucket.at(name), { headers: { authorization: `Bearer ${bucket.api.key}` } })

/** More than the buffers of a connection hold, so that most of it is still to be sent. */
const beginDownload = async (bucket: TestBucket, name: string) => {
  const reader = (await open(bucket, name)).body!.getReader()
  const chunks = [(await reader.read()).value!]
  return async (): Promise<string> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value)
    return sha256(Buffer.concat(chunks))
  }
}

test('readers beside many replacements: every answer is one version, whole, with its own digest and length', async () => {
  const bucket = await makeBucket(service.api)
  const version = (n: number): Buffer => Buffer.alloc(300_000 + n * 7_001, n + 1)
  await bucket.put('a', version(0))
  let isOver = false
  let seen = 0
  const readers = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const answer = await open(bucket, 'a')
      const bytes = Buffer.from(await answer.bytes())
      const expected = version(bytes[0]! - 1)
      expect([answer.status, answer.headers.get('etag')]).toEqual([200, `"${sha256(expected)}"`])
      expect(bytes.equals(expected)).toBe(true)
      seen++
    }
  })
  for (let n = 1; n < 40; n++) await bucket.put('a', version(n))
  isOver = true
  await Promise.all(readers)
  expect(seen).toBeGreaterThan(20)
})

test('a download that began before the file was replaced or removed ends with the old bytes', async () => {
  const bucket = await makeBucket(service.api)
  const [old, later] = [Buffer.alloc(24 * mib, 'a'), Buffer.alloc(24 * mib, 'b')]
  await bucket.put('a', old)
  const finish = [await beginDownload(bucket, 'a'), await beginDownload(bucket, 'a')]
  await bucket.put('a', later)
  expect(await finish[0]!()).toBe(sha256(old))
  ok(await bucket.delete('a'))
  expect(await finish[1]!()).toBe(sha256(old))
})

test('also if its bytes are swept meanwhile', async () => {
  const server = await startServer({ clock: true })
  try {
    const bucket = await makeBucket(server.as((await server.createOrganization()).secretKey))
    const blobs = (): number =>
      readdirSync(join(server.dataDir, 'files'), { recursive: true, encoding: 'utf8' }).filter((name) =>
        /\/[0-9a-f]{32}$/.test(name),
      ).length
    const old = Buffer.alloc(24 * mib, 'a')
    await bucket.put('a', old)
    const finish = await beginDownload(bucket, 'a')
    ok(await bucket.delete('a'))
    server.setClock(hourMs + 60_000)
    await eventually('the bytes are swept', () => (blobs() === 0 ? true : undefined))
    expect(await finish()).toBe(sha256(old))
  } finally {
    await server.stop()
  }
})
