import { expect, setDefaultTimeout, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { storeFileBytesMax } from '../../src/core/limits.ts'
import { eventually, makeTempDir, removeTempDir, startServer, storeIsEmbedded } from '../harness.ts'
import { Random, testSeed } from '../model/random.ts'
import { filesBelow } from './blob-fixture.ts'

// Without this, a file whose upload was answered could be gone after a crash, or have bytes of two uploads, or the disk fill
// with bytes that nobody refers to.

const isFull = process.env.CUBBY_TEST_FILES === 'full'
/** Kills; the uploads that each one meets are about as many as there are uploaders. */
const rounds = isFull ? 20 : 4
const uploadersMax = 10
const dayMs = 24 * 60 * 60 * 1000

setDefaultTimeout(60_000 + rounds * 15_000)

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Uploads one file after another to names of its own, and remembers what it was told. */
class Uploader {
  /** The digests that a reader may see, by name: of the last upload that was answered, and of those sent since. */
  readonly allowed = new Map<string, Set<string | undefined>>()
  answered = 0
  sent = 0

  constructor(
    readonly id: number,
    private readonly random: Random,
  ) {}

  async run(base: string, key: string, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const name = `u${this.id}/f${this.random.int(0, 2)}`
      const bytes = randomBytes(this.random.chance(0.3) ? this.random.int(1, 3_000_000) : this.random.int(0, 20_000))
      const allowed = this.allowed.get(name) ?? new Set([undefined])
      this.allowed.set(name, allowed)
      allowed.add(sha256(bytes))
      this.sent++
      const response = await fetch(`${base}/v1/app/_buckets/crash/${name}`, {
        method: 'PUT',
        headers: { Authorization: `Bearer ${key}` },
        body: bytes,
      }).catch(() => undefined)
      if (response?.status !== 200) {
        if (response !== undefined && !isOver()) throw new Error(`an upload was answered with ${response.status}`)
        return
      }
      const record = (await response.json().catch(() => undefined)) as { sha256: string } | undefined
      if (record === undefined) return
      expect(record.sha256).toBe(sha256(bytes))
      this.allowed.set(name, new Set([record.sha256]))
      this.answered++
    }
  }
}

test.each([[], ['--no-small-files-in-store']])(
  `killed ${rounds} times under ${uploadersMax} uploads, serve %s: answered files are whole, others are not seen, and nothing is left behind`,
  async (...flags: string[]) => {
    const seed = testSeed()
    console.log(`crash of uploads: CUBBY_TEST_SEED=${seed}`)
    const random = new Random(seed)
    const dir = makeTempDir()
    const place = join(dir, 'bytes')
    const server = await startServer({ args: ['--files', place, ...flags], clock: true })
    try {
      const { secretKey } = await server.createOrganization()
      const api = server.as(secretKey)
      expect((await api.post('/v1/app/_buckets/crash')).status).toBe(201)
      const uploaders = Array.from({ length: uploadersMax }, (_, id) => new Uploader(id, random))
      const answered = (): number => uploaders.reduce((sum, uploader) => sum + uploader.answered, 0)
      const verify = () => server.cubby('verify', '--bytes', '--files', place)

      for (let round = 0; round < rounds; round++) {
        const until = answered() + random.int(5, 40)
        let killed = false
        const running = Promise.all(uploaders.map((uploader) => uploader.run(server.url, secretKey, () => killed)))
        const waiting = eventually('answers to uploads', () => (answered() >= until ? true : undefined), { pauseMs: 1 })
        await Promise.race([waiting, running])
        await Bun.sleep(random.next() * 20)
        killed = true
        await server.kill()
        await running
        await server.start()

        const listed = await api.post('/v1/app/_buckets/crash/query', { limit: 1000 })
        const found = new Map<string, string>(
          listed.body.items.map(({ name, sha256 }: Record<string, string>) => [name, sha256]),
        )
        for (const { allowed } of uploaders) {
          for (const [name, digests] of allowed) {
            expect({ round, name, isAllowed: digests.has(found.get(name)) }).toEqual({ round, name, isAllowed: true })
            // The contents that are there now must stay.
            allowed.set(name, new Set([found.get(name)]))
            if (found.get(name) === undefined) continue
            const response = await fetch(`${server.url}/v1/app/_buckets/crash/${name}`, {
              headers: { Authorization: `Bearer ${secretKey}` },
            })
            expect([response.status, sha256(await response.bytes())]).toEqual([200, found.get(name)!])
          }
        }
        if (round === rounds - 1) expect(await verify()).toMatchObject({ exitCode: 0, stderr: '' })
      }
      expect(answered()).toBeGreaterThan(rounds * 5)
      const sent = uploaders.reduce((sum, uploader) => sum + uploader.sent, 0)
      console.log(`crash of uploads: ${sent} uploads, ${answered()} of them answered`)

      // Two days later all that no file refers to is gone.
      // The server has ended before: a sweep that is stopped with what it has begun tries that again minutes later.
      await server.kill()
      server.setClock(2 * dayMs)
      await server.start()
      const { items } = (await api.post('/v1/app/_buckets/crash/query', { limit: 1000 })).body
      const small = items.filter(({ size }: { size: number }) => size <= storeFileBytesMax).length
      expect(small).toBeGreaterThan(0)
      const files = flags.length === 0 ? items.length - small : items.length
      const left = await eventually(
        'only the files are left, and the mark',
        () => {
          const below = filesBelow(place)
          return below.length === files + 1 ? below : undefined
        },
        { waitMsMax: 60_000 },
      )
      expect(left.filter((name) => name.endsWith('.part'))).toEqual([])
      expect(await verify()).toMatchObject({ exitCode: 0, stderr: '' })
    } finally {
      await server.stop()
      removeTempDir(dir)
    }
  },
)

test.skipIf(!storeIsEmbedded())('without --files they are in the data directory', async () => {
  const server = await startServer()
  try {
    const api = server.as((await server.createOrganization()).secretKey)
    await api.post('/v1/app/_buckets/b')
    expect(filesBelow(join(server.dataDir, 'files'))).toEqual([])
    await api.put('/v1/app/_buckets/b/a.txt', 'x'.repeat(storeFileBytesMax + 1))
    expect(filesBelow(join(server.dataDir, 'files'))).toHaveLength(2)
  } finally {
    await server.stop()
  }
})
