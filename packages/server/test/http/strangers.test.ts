import { expect, test } from 'bun:test'
import { generateApiKey } from '../../src/core/api-keys/api-key.ts'
import { newBucketId } from '../../src/core/files/bucket-id.ts'
import { requestsInFlightMax } from '../../src/core/limits.ts'
import { Pipeline, type PipelineOptions } from '../../src/http/pipeline.ts'
import type { Route } from '../../src/http/routes.ts'

// Nobody knows whom to charge for a request before its key or its URL was looked up. Without turns for these look-ups, one
// client with forged keys or URLs keeps the thread for as long as it sends them.

const busy = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const key = generateApiKey('public')
const apiKey = { id: 'key_1', seq: 7, orgId: 1, kind: 'public', databases: null, revokedAtMs: null, expiresAtMs: null }

/** A pipeline on a store that knows one key and no bucket, and takes 6 ms to look for one that it does not know. */
const makePipeline = () => {
  const served: string[] = []
  const others: Promise<void>[] = []
  const lookFor = (): undefined => {
    // Ten small requests of another organization, which come during the first look-up.
    if (others.length === 0) {
      others.push(
        ...Array.from({ length: 10 }, async () => {
          await turns.wait(2, 2)
          turns.begin(2, 2, true)
          served.push('other')
        }),
      )
    }
    busy(6)
    served.push('stranger')
  }
  const find = (text: string) => (text === key ? apiKey : lookFor())
  const engine = { apiKeys: { find, findById: lookFor }, buckets: { findById: lookFor }, urlKey: new Uint8Array(32) }
  const options = { engine, log: () => {}, now: Date.now, onKeyUse: () => {} } as unknown as PipelineOptions
  const pipeline = new Pipeline(options)
  const { turns } = pipeline
  const route = {
    ...{ keyNeeded: 'read', operationId: 'getRecord' },
    handler: () => {
      served.push('known')
      return new Response()
    },
  } as unknown as Route
  return { pipeline, served, others, byKey: pipeline.handlerFor('/x', { GET: route }), options }
}

const request = (path: string, params: object, headers: Record<string, string> = {}): never =>
  Object.assign(new Request(`http://127.0.0.1${path}`, { headers }), { params }) as never
const withKey = (text: string): never => request('/x', {}, { authorization: `Bearer ${text}` })
const nothing = undefined as never

const strangersBeforeOthers = (served: string[]): number =>
  served.slice(0, served.lastIndexOf('other')).filter((what) => what === 'stranger').length

const count = 30

test('requests with forged keys take turns with others, as one caller', async () => {
  const { pipeline, served, others, byKey } = makePipeline()
  const answers = Array.from({ length: count }, () => byKey(withKey(generateApiKey('secret')), nothing))
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(count).fill(401))
  await Promise.all(others)
  pipeline.stop()
  expect(served.filter((what) => what === 'stranger').length).toBe(count)
  expect(strangersBeforeOthers(served)).toBeLessThan(5)
})

test('so do requests to URLs of files that do not exist', async () => {
  const { pipeline, served, others, options } = makePipeline()
  const byUrl = pipeline.fileUrls('/files/:bucketId/:name', { ...options, tasks: nothing })
  const answers = Array.from({ length: count }, () => {
    const bucketId = newBucketId()
    return byUrl(request(`/files/${bucketId}/a`, { bucketId, name: 'a' }), nothing)
  })
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(count).fill(404))
  await Promise.all(others)
  pipeline.stop()
  expect(served.filter((what) => what === 'stranger').length).toBe(count)
  expect(strangersBeforeOthers(served)).toBeLessThan(5)
})

test('a key that was found before waits for the turn of its organization only', async () => {
  const { pipeline, served, byKey } = makePipeline()
  await byKey(withKey(key), nothing)
  const strangers = Array.from({ length: count }, () => byKey(withKey(generateApiKey('secret')), nothing))
  await byKey(withKey(key), nothing)
  expect(served.filter((what) => what === 'known').length).toBe(2)
  const before = served.slice(0, served.lastIndexOf('known'))
  expect(before.filter((what) => what === 'stranger').length).toBeLessThan(5)
  await Promise.all(strangers)
  pipeline.stop()
})

test('at most a quarter of the requests in flight are of strangers that wait', async () => {
  const { pipeline, byKey } = makePipeline()
  byKey(withKey(generateApiKey('secret')), nothing)
  const most = requestsInFlightMax / 4
  const answers = Array.from({ length: most + 3 }, () => byKey(request('/x', {}), nothing))
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 503).length).toBe(3)
  expect(statuses.filter((status) => status === 401).length).toBe(most)
  pipeline.stop()
})
