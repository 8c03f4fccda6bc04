import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mainFile, type ServeProcess, spawnServe } from '../cli/serve-process.ts'
import { type Api, eventually, makeTempDir, removeTempDir, storeIsEmbedded } from '../harness.ts'
import { ok, refused } from '../http/service.ts'
import { mountSmallDisk, type SmallDisk } from '../limits/small-disk.ts'
import { content, filesBelow } from './blob-fixture.ts'

// A disk that fills up during an upload must not cost the file that it was to replace, nor keep what had arrived.

setDefaultTimeout(120_000)

const mounted: SmallDisk | string = storeIsEmbedded()
  ? await mountSmallDisk(16 * 1_048_576)
  : 'the store is not on a disk of ours'
const why = typeof mounted === 'string' ? ` (skipped: ${mounted})` : ''
const twoDaysMs = 2 * 24 * 60 * 60 * 1000

describe.skipIf(typeof mounted === 'string')(`a full disk${why}`, () => {
  const disk = mounted as SmallDisk
  const cleanUps: (() => unknown)[] = []
  afterEach(async () => {
    for (const clean of cleanUps.splice(0).reverse()) await clean()
  })

  const first = content(500_000)
  const file = '/v1/app/_buckets/b/dir/a'

  /** A server with one file, and its data or its files on the disk. */
  const start = async (onDisk: 'data' | 'files', ...flags: string[]) => {
    const top = makeTempDir()
    const clock = join(top, 'clock')
    const [dataDir, place] = onDisk === 'data' ? [disk.dir, join(top, 'files')] : [join(top, 'data'), disk.dir]
    const outside = onDisk === 'data' ? place : disk.outsideDir
    const args = ['--no-bootstrap', '--files', place, ...flags]
    const env = { NODE_ENV: 'test', CUBBY_TEST_CLOCK: clock }
    const begin = async (): Promise<ServeProcess> => {
      const serving = spawnServe({ dataDir, args, wrapper: disk.wrapper, env })
      await serving.ready
      return serving
    }
    let serving = await begin()
    cleanUps.push(async () => {
      await serving.end()
      disk.free()
      removeTempDir(top)
    })
    const cubby = async (...words: string[]) => {
      const command = [...disk.wrapper, process.execPath, mainFile, ...words, '--data', dataDir]
      const child = Bun.spawn(command, {
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
        env: { ...process.env, ...env },
      })
      return { stdout: await new Response(child.stdout).text(), exitCode: await child.exited }
    }
    const { secretKey } = JSON.parse((await cubby('orgs', 'create', 'acme', '--json')).stdout)
    const api = (): Api => serving.server.as(secretKey)
    ok(await api().post('/v1/app/_buckets/b'), 201)
    ok(await api().post('/v1/app/notes'), 201)
    ok(await api().put(file, first))
    return {
      api,
      blobs: () => filesBelow(outside).filter((name) => /[0-9a-f]{32}(\.part)?$/.test(name)),
      /** Sends the bytes, and after the first half what `halfway` does. */
      async put(bytes: Uint8Array, halfway = async (): Promise<void> => {}): Promise<[number, string | undefined]> {
        const half = bytes.length / 2
        const body = async function* () {
          yield bytes.subarray(0, half)
          await halfway()
          yield bytes.subarray(half)
        }
        const headers = { authorization: `Bearer ${secretKey}` }
        const answer = await fetch(serving.server.url + file, { method: 'PUT', headers, body: body() as never })
        return [answer.status, ((await answer.json()) as { error?: { code: string } }).error?.code]
      },
      async read(path: string): Promise<string> {
        const answer = await fetch(serving.server.url + path, { headers: { authorization: `Bearer ${secretKey}` } })
        return answer.text()
      },
      async expectFirst(): Promise<void> {
        const answer = await fetch(serving.server.url + file, { headers: { authorization: `Bearer ${secretKey}` } })
        expect(answer.status).toBe(200)
        expect(Buffer.from(await answer.bytes()).equals(first)).toBe(true)
      },
      /** Two days later, all that no file refers to is gone, and the store is sound. */
      async expectOneBlob(): Promise<void> {
        await serving.end()
        writeFileSync(clock, String(twoDaysMs))
        serving = await begin()
        await eventually('the rest is swept', () => (this.blobs().length === 1 ? true : undefined))
        expect(await cubby('verify', '--bytes', '--files', place)).toMatchObject({ exitCode: 0 })
      },
    }
  }

  test('of the files: 507, also in the middle of an upload; the previous file stays; tables can be written', async () => {
    const stage = await start('files', '--no-small-files-in-store')
    disk.fill()
    refused(await stage.api().put(file, content(200_000)), 507, 'storage_full')
    refused(await stage.api().put(file, 'small'), 507, 'storage_full')
    refused(await stage.api().put(`${file}/other`, 'small'), 507, 'storage_full')
    ok(await stage.api().put('/v1/app/notes', { hashKey: 'a', data: {} }))
    disk.free()
    disk.fill(1_000_000)
    expect(await stage.put(content(3_000_000))).toEqual([507, 'storage_full'])
    await stage.expectFirst()
    // The bytes that had arrived give their room back at once.
    expect(stage.blobs().length).toBe(1)
    expect(await stage.put(content(600_000))).toEqual([200, undefined])
    disk.free()
    ok(await stage.api().put(file, first))
    await stage.expectFirst()
    await stage.expectOneBlob()
  })

  test('of the files: small files go to the store, which has room', async () => {
    // The disk still has the files of the store before.
    const stage = await start('files', '--adopt-files')
    disk.fill()
    refused(await stage.api().put(file, content(20_000)), 507, 'storage_full')
    ok(await stage.api().put(`${file}/small`, 'small'))
    expect(await stage.read(`${file}/small`)).toBe('small')
  })

  test('of the store: 507, also if it fills up during an upload; the previous file stays', async () => {
    const stage = await start('data')
    const small = `${file}/small`
    ok(await stage.api().put(small, 'the previous one'))
    const fill = async (): Promise<void> => {
      await eventually('the upload has begun', () => (stage.blobs().length === 2 ? true : undefined))
      disk.fill()
    }
    expect(await stage.put(content(400_000), fill)).toEqual([507, 'storage_full'])
    refused(await stage.api().put(file, content(200_000)), 507, 'storage_full')
    refused(await stage.api().put(file, 'small'), 507, 'storage_full')
    refused(await stage.api().put(small, content(16_384)), 507, 'storage_full')
    refused(await stage.api().request('PATCH', file, { visibility: 'public' }), 507, 'storage_full')
    refused(await stage.api().delete(file), 507, 'storage_full')
    await stage.expectFirst()
    expect(await stage.read(small)).toBe('the previous one')
    disk.free()
    await stage.expectFirst()
    ok(await stage.api().put(small, 'the next one'))
    await stage.expectOneBlob()
    expect(await stage.read(small)).toBe('the next one')
  })

  afterAll(() => disk.remove())
})
