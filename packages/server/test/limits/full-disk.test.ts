import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mainFile, type ServeProcess, spawnServe } from '../cli/serve-process.ts'
import { type ApiResponse, storeIsEmbedded } from '../harness.ts'
import { makeTable, ok, refused, TestTable } from '../http/service.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'

// When the disk is full, no acknowledged write may be lost, and reads must work. Once there is room again, writes must work
// without a restart.

setDefaultTimeout(120_000)

const mounted: SmallDisk | string = storeIsEmbedded()
  ? await mountSmallDisk(16 * 1_048_576)
  : 'the store is not on a disk of ours'
const why = typeof mounted === 'string' ? ` (skipped: ${mounted})` : ''

describe.skipIf(typeof mounted === 'string')(`a full disk${why}`, () => {
  const disk = mounted as SmallDisk
  let serving: ServeProcess
  let table: TestTable
  /** Every acknowledged version by its key, and every key that was refused. */
  const acknowledged = new Map<string, number>()
  const refusedKeys: string[] = []
  let puts = 0

  const cubby = async (...args: string[]) => {
    const command = [...disk.wrapper, process.execPath, mainFile, ...args, '--data', disk.dir]
    const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { exitCode: await child.exited, stdout, stderr }
  }

  const start = async (): Promise<void> => {
    serving = spawnServe({ dataDir: disk.dir, args: ['--no-bootstrap'], wrapper: disk.wrapper })
    await serving.ready
  }

  beforeAll(async () => {
    await start()
    const { secretKey } = JSON.parse((await cubby('orgs', 'create', 'acme', '--json')).stdout)
    table = await makeTable(serving.server.as(secretKey), { i1: { hashField: 'n' } })
    await writeSome(50)
    expect(refusedKeys).toEqual([])
  })
  afterAll(async () => {
    await serving?.end()
    await disk.remove()
  })

  /** So many puts, eight at a time; each is noted as acknowledged or, if the disk was full, as refused. */
  const writeSome = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 8) {
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          const hashKey = `k${++puts}`
          const answer = await table.tryPut({
            hashKey,
            data: { n: puts % 10, text: 'x'.repeat((puts * 997) % 15_000) },
          })
          if (answer.status === 200) acknowledged.set(hashKey, answer.body.updatedAt)
          else {
            refused(answer, 507, 'storage_full')
            refusedKeys.push(hashKey)
          }
        }),
      )
    }
  }

  const expectWhatWasAcknowledged = async (): Promise<void> => {
    for (const [key, updatedAt] of acknowledged) expect(ok(await table.get(key)).updatedAt).toBe(updatedAt)
    for (const key of refusedKeys) refused(await table.get(key), 404, 'record_not_found')
    let inIndex = 0
    for (let n = 0; n < 10; n++) inIndex += (await table.hashes({ index: 'i1', hash: n })).length
    expect(inIndex).toBe(acknowledged.size)
  }

  test('writes answer 507 storage_full, each kind of them', async () => {
    disk.fill()
    await writeSome(64)
    expect(refusedKeys.length).toBeGreaterThan(50)
    refused(await table.delete('k1'), 507, 'storage_full')
    refused(
      await table.tryBatch([
        { op: 'put', hashKey: 'b1', data: {} },
        { op: 'delete', hashKey: 'k1' },
      ]),
      507,
      'storage_full',
    )
    refused(await table.api.post('/v1/app/another'), 507, 'storage_full')
    refused(await table.api.post('/api/keys', { kind: 'public' }), 507, 'storage_full')
    refused(await table.api.delete(table.path), 507, 'storage_full')
  })

  test('reads go on, of records, queries and tables; health and readiness are well', async () => {
    await expectWhatWasAcknowledged()
    ok(await table.api.get('/v1/app'))
    ok(await serving.server.request('GET', '/healthz'))
    ok(await serving.server.request('GET', '/readyz'))
  })

  test("an operator's command says so in one line, exit 1, and the store is sound", async () => {
    const { exitCode, stdout, stderr } = await cubby('orgs', 'create', 'other')
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^cubby: [^\n]*full[^\n]*\n$/)
    expect(await cubby('verify')).toMatchObject({ exitCode: 0 })
  })

  test('once there is room, writes work again without a restart', async () => {
    disk.free()
    const before = refusedKeys.length
    await writeSome(64)
    expect(refusedKeys.length).toBe(before)
    ok(await table.api.post('/v1/app/another'), 201)
    await expectWhatWasAcknowledged()
  })

  test('a disk that fills and empties under load loses nothing', async () => {
    for (let round = 0; round < 4; round++) {
      const writing = writeSome(160)
      disk.fill()
      // A little room, so that a commit may fail half-way through.
      disk.free()
      disk.fill(20_000)
      await writing
      disk.free()
      await writeSome(8)
    }
    await expectWhatWasAcknowledged()
    expect(await cubby('verify')).toMatchObject({ exitCode: 0 })
  })

  test('killed while the disk is full, it starts again with all that was acknowledged', async () => {
    disk.fill(4_096)
    await writeSome(32)
    await serving.end('SIGKILL')
    await start()
    table = new TestTable(serving.server.as(table.api.key), table.db, table.name)
    await expectWhatWasAcknowledged()
    disk.free()
    await writeSome(16)
    await expectWhatWasAcknowledged()
    expect(await cubby('verify')).toMatchObject({ exitCode: 0 })
  })

  // A load of many commits, which has stored some when the disk is full.
  test('a load that meets a full disk says how many lines are stored, and the same load again completes', async () => {
    const lines = Array.from({ length: 3_000 }, (_, n) =>
      JSON.stringify({ hashKey: 'load', rangeKey: String(n).padStart(5, '0'), data: { text: 'x'.repeat(300) } }),
    )
    const load = async (isPacked: boolean): Promise<ApiResponse> => {
      const body = Buffer.from(lines.join('\n'))
      const response = await fetch(`${serving.server.url}${table.path}/load`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${table.api.key}`,
          'Content-Encoding': isPacked ? 'gzip' : 'identity',
        },
        body: isPacked ? Bun.gzipSync(body) : body,
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
    }
    const stored = async (): Promise<number> => {
      const { items, cursor } = ok(await table.api.post(`${table.path}/query`, { hash: 'load', limit: 1_000 }))
      const keys: string[] = items.map(({ rangeKey }: { rangeKey: string }) => rangeKey)
      expect(keys).toEqual(keys.map((_, n) => String(n).padStart(5, '0')))
      const last = ok(await table.api.post(`${table.path}/query`, { hash: 'load', limit: 1, ascending: false }))
      return cursor === null ? keys.length : Number(last.items[0].rangeKey) + 1
    }
    for (const isPacked of [false, true]) {
      for (let n = 0; n < lines.length; n += 25) {
        const keys = lines.slice(n, n + 25).map((line) => ({ ...JSON.parse(line), op: 'delete', data: undefined }))
        ok(await table.tryBatch(keys))
      }
      disk.fill(700_000)
      const { count } = refused(await load(isPacked), 507, 'storage_full')
      expect(count).toBeGreaterThanOrEqual(0)
      expect(count).toBeLessThan(lines.length)
      expect(await stored()).toBe(count)
      disk.free()
      expect(ok(await load(isPacked))).toEqual({ count: lines.length, skipped: 0, failed: 0, errors: [] })
      expect(await stored()).toBe(lines.length)
      console.log(`a full disk: ${count} lines of the load were stored`)
    }
    await expectWhatWasAcknowledged()
    expect(await cubby('verify')).toMatchObject({ exitCode: 0 })
  })
})
