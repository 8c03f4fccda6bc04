import { expect, test } from 'bun:test'
import { CheckedBlobStore } from '../../src/files/blob-stores/checked-blob-store.ts'
import { makeBlobStore } from '../../src/files/blob-stores/open-blob-store.ts'
import { countedBlobStore, tracked } from '../../src/process/served-blob-store.ts'
import type { BlobStore, BlobWriter } from '../../src/store/blob-store.ts'

// Without this, a sweep would remove the bytes of an upload that runs for more than a day.

const events: string[] = []
const uploads = {
  begin: (id: string) => void events.push(`begin ${id}`),
  end: (id: string) => void events.push(`end ${id}`),
  stop: async () => {},
}

const writer = (fails: boolean): BlobWriter => ({
  write: async () => void events.push('bytes'),
  finish: async () => {
    events.push('finish')
    if (fails) throw new Error('no space')
  },
  abort: async () => void events.push('abort'),
})

const blobStore = (write: BlobStore['write']): BlobStore => tracked({ description: 'x', write } as BlobStore, uploads)

const eventsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  events.length = 0
  await work().catch(() => {})
  return [...events]
}

// A row that is given up too early is forgotten, and nothing would ever remove bytes that come late.
test('bytes may come late to S3, and to a directory only after it was closed; no part on the way changes that', async () => {
  const env = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'eu-west-1' }
  const stored = {
    ...{ storeId: () => '', adoptBlobs: async () => 0 },
    readMark: async () => undefined,
    writeMark: async (mark: string) => mark,
  }
  const late = async (files: string): Promise<[BlobStore, boolean]> => {
    const made = await makeBlobStore(files, { env, now: Date.now })
    const used = countedBlobStore(tracked(new CheckedBlobStore(made, stored, () => {}), uploads), {
      written: () => {},
      read: () => {},
    })
    return [used, used.mayWriteLate()]
  }
  expect((await late('s3://bucket'))[1]).toBe(true)
  const [directory, mayBeLate] = await late('/nowhere')
  expect(mayBeLate).toBe(false)
  await directory.close()
  expect(directory.mayWriteLate()).toBe(true)
})

test('an upload counts as running from before its first byte until it is durable or given up, well or not', async () => {
  const good = blobStore(async () => writer(false))
  expect(
    await eventsOf(async () => {
      const upload = await good.write('a')
      await upload.write(new Uint8Array(1))
      await upload.finish('')
    }),
  ).toEqual(['begin a', 'bytes', 'finish', 'end a'])
  expect(await eventsOf(async () => (await good.write('b')).abort())).toEqual(['begin b', 'abort', 'end b'])
  const full = blobStore(async () => writer(true))
  expect(await eventsOf(async () => (await full.write('c')).finish(''))).toEqual(['begin c', 'finish', 'end c'])
  const away = blobStore(async () => {
    throw new Error('not mounted')
  })
  expect(await eventsOf(() => away.write('d'))).toEqual(['begin d', 'end d'])
})
