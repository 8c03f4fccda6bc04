import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dataBytesMax, plainBodyBytesMax } from '../../src/core/limits.ts'
import { type Server, startServer } from '../harness.ts'
import { makeTable, ok, refused, type TestTable } from '../http/service.ts'

// JavaScriptCore takes ten kilobytes for an object such as {"999":1}. A server that builds such objects would need a thousand
// times the bytes of a body, and would serve nobody while it does.

setDefaultTimeout(120_000)

const mb = 1_000_000
let server: Server
let table: TestTable
let victim: TestTable
beforeAll(async () => {
  server = await startServer()
  table = await makeTable(server.as((await server.createOrganization()).secretKey), {
    i1: { hashField: 's', rangeField: 'r' },
  })
  victim = await makeTable(server.as((await server.createOrganization()).secretKey))
  await victim.put('a', { n: 1 })
})
afterAll(async () => {
  await server?.stop()
})

const costly = (bytes: number): string =>
  Array(Math.floor(bytes / 10))
    .fill('{"999":1}')
    .join()

/** An object of just this many bytes that is in the index. */
const costlyData = (bytes: number): string => {
  const [start, end] = ['{"list":[', '],"s":"x","r":17}']
  const list = costly(bytes - start.length - end.length)
  return `${start}${list}${' '.repeat(bytes - start.length - end.length - list.length)}${end}`
}

const anonymousBytes = (): number =>
  Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) * 1024

interface Seen {
  /** The memory that the process gained at its peak. */
  gainedBytes: number
  /** The longest that another organization waited for an answer. */
  longestMs: number
  /** All of the work. */
  totalMs: number
}

/** Observes the server while the work is done. */
const whileRunning = async (work: () => Promise<unknown>): Promise<Seen> => {
  const before = anonymousBytes()
  let peak = before
  let longestMs = 0
  let done = false
  const workStartedAtMs = performance.now()
  const watch = (async () => {
    while (!done) {
      const startedAtMs = performance.now()
      ok(await victim.get('a'))
      longestMs = Math.max(longestMs, performance.now() - startedAtMs)
      peak = Math.max(peak, anonymousBytes())
      await Bun.sleep(1)
    }
  })()
  try {
    await work()
  } finally {
    done = true
    await watch
  }
  return { gainedBytes: peak - before, longestMs, totalMs: performance.now() - workStartedAtMs }
}

/**
 * Others wait for some of the work only, as its steps are many; at once it would be nearly all of the time. The work is done
 * again if the machine was too busy meanwhile to say anything.
 */
const expectServed = async (work: () => Promise<unknown>, gainedBytesMax = Infinity): Promise<void> => {
  const shares: number[] = []
  do {
    const { gainedBytes, longestMs, totalMs } = await whileRunning(work)
    expect(gainedBytes).toBeLessThan(gainedBytesMax)
    shares.push(longestMs / totalMs)
  } while (shares.length < 4 && shares.at(-1)! >= 0.5)
  console.log(
    `the longest wait of others, as a share of the work: ${shares.map((share) => share.toFixed(2)).join(', ')}`,
  )
  expect(shares.at(-1)!).toBeLessThan(0.5)
}

describe.skipIf(!existsSync('/proc/self/status'))('JSON that is made to cost much when it is built', () => {
  test('puts of the largest data are taken, indexed, and cost little more than their bytes', async () => {
    const data = costlyData(dataBytesMax)
    expect(Buffer.byteLength(data)).toBe(dataBytesMax)
    // The first may bring pages that stay.
    const put = (key: string) => table.tryPut(`{"hashKey":"${key}","data":${data}}`, { prefer: 'return=minimal' })
    ok(await put('k'))
    expect(await table.hashes({ index: 'i1', hash: 'x', range: { eq: 17 } })).toEqual(['k'])
    // When they were built, each took 329 MB and blocked the server for a tenth of a second.
    await expectServed(async () => {
      for (let i = 0; i < 8; i++) ok(await put(`k${i}`))
    }, 120 * mb)
    expect((await table.get('k7')).text).toContain(data)
  })

  test('the largest batch of it is taken, and others are served while it is read', async () => {
    const data = costlyData(dataBytesMax)
    const operations = Array.from({ length: 25 }, (_, i) => `{"op":"put","hashKey":"b${i}","data":${data}}`)
    const body = `{"operations":[${operations.join()}]}`
    // Built, it took 8 GB. The body, its text and what crosses to the writer are 10 MB each.
    await expectServed(async () => {
      expect(ok(await table.api.post(`${table.path}/batch`, body))).toEqual({ count: 25 })
    }, 250 * mb)
    expect((await table.get('b24')).text).toContain(data)
  })

  test('a batch of a million operations is rejected; it costs only its bytes, and others are served during that', async () => {
    for (const element of ['{"999":1},', '1,']) {
      const body = `{"operations":[${element.repeat(Math.floor((11 * mb) / element.length))}1]}`
      // It is read in more than a hundred steps.
      await expectServed(async () => {
        refused(await table.api.post(`${table.path}/batch`, body), 400, 'batch_too_large')
      }, 250 * mb)
    }
  })

  test('a find of a hundred thousand keys is rejected in the same way', async () => {
    for (const element of ['{"999":1},', '1,']) {
      const body = `{"keys":[${element.repeat(Math.floor((0.9 * mb) / element.length))}1]}`
      await expectServed(async () => {
        for (let i = 0; i < 10; i++) refused(await table.api.post(`${table.path}/find`, body), 400, 'batch_too_large')
      }, 250 * mb)
    }
  })

  test('so are objects of the envelope with a million members', async () => {
    const members = Array.from({ length: 1_000_000 }, (_, i) => `"m${i.toString(36)}":1`).join()
    await expectServed(async () => {
      const body = `{"operations":[{"op":"put",${members}}]}`
      refused(await table.api.post(`${table.path}/batch`, body), 400, 'invalid_request', 'operations[0].m0')
      refused(await table.api.post(`${table.path}/batch`, `{${members}}`), 400, 'invalid_request', 'm0')
    }, 250 * mb)
  })

  test('of bodies without data nothing is built that no request looks into', async () => {
    const list = costly(plainBodyBytesMax - 100)
    const small = costly(2_000)
    // Built, each of them took 50 MB.
    await expectServed(async () => {
      for (let i = 0; i < 10; i++) {
        refused(await table.tryQuery(`{"hash":[${list}]}`), 400, 'invalid_key', 'hash')
        refused(await table.tryQuery(`{"index":"i1","hash":[${list}]}`), 400, 'invalid_index_value', 'hash')
        refused(
          await table.tryQuery(`{"hash":"a","range":{"between":[${list}]}}`),
          400,
          'invalid_range',
          'range.between',
        )
        refused(await table.api.post(table.path, `{"indices":[${list}]}`), 400, 'invalid_index', 'indices')
        refused(await table.api.post('/api/keys', `{"kind":"public","databases":[${list}]}`), 400, 'invalid_request')
        refused(await table.api.post(`${table.path}/restore`, `{"deletedAt":[${list}]}`), 400, 'invalid_request')
        refused(await table.tryQuery(`{"hash":[${small}]}`), 400, 'invalid_key', 'hash')
      }
    }, 60 * mb)
  })

  test('white space before a fault costs no more than other bytes: others are served', async () => {
    // More objects than are built, so that the scan reads it; then nothing but space up to where the text ends.
    const start = `[${'{},'.repeat(300)}`
    const cutShort = start.padEnd(plainBodyBytesMax)
    const ofOtherBytes = `${start}"${'x'.repeat(plainBodyBytesMax - start.length - 1)}`
    const query = (body: string) => async () =>
      refused(await table.api.post(`${table.path}/query`, body), 400, 'invalid_json')
    const put = (body: string) => async () => refused(await table.tryPut(body), 400, 'invalid_json')
    for (const [space, other] of [
      [query(cutShort), query(ofOtherBytes)],
      [put(' '.repeat(100_000)), put(`"${'x'.repeat(99_999)}`)],
    ] as const) {
      // The best of some: a busy machine may hold up any of them. Cost that grows with the square would be thousands of times.
      const best = { space: Infinity, other: Infinity }
      for (let round = 0; round < 5; round++) {
        best.space = Math.min(best.space, (await whileRunning(space)).totalMs)
        best.other = Math.min(best.other, (await whileRunning(other)).totalMs)
      }
      console.log(`white space: ${best.space.toFixed(1)} ms, other bytes: ${best.other.toFixed(1)} ms`)
      expect(best.space).toBeLessThan(20 * best.other)
    }
  })

  test('a megabyte of open brackets is refused as any text that is not JSON', async () => {
    for (const open of ['[', '{"a":']) {
      refused(await table.tryPut(open.repeat(1_048_576 / open.length)), 400, 'invalid_json')
      refused(await table.tryPut(`{"hashKey":"a","data":${open.repeat(1_000_000 / open.length)}`), 400, 'invalid_json')
    }
  })
})
