import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { eventually } from '../harness.ts'
import { makeTable, type TestTable } from '../http/service.ts'
import type { UnreadAttack } from './attackers.ts'
import { expectNobodyRefused, fillTable, inFull, mib, type Seen, Stage } from './stage.ts'
import { canRefuseToRead } from './unread.ts'
import type { Head } from './wire.ts'

// A response that the client does not read takes memory for as long as the connection may be idle.

setDefaultTimeout(300_000)

const connections = 400
/** The memory of the whole process. */
const memoryBytesMax = 250 * mib

let stage: Stage
/** Of the attacker: a page of it is a megabyte. */
let pages: TestTable
const large = 'x'.repeat(400_000)
beforeAll(async () => {
  stage = await Stage.open()
  pages = await makeTable(stage.attacker.table.api)
  await fillTable(
    pages,
    Array.from({ length: 40 }, (_, n) => ({ hashKey: 'page', rangeKey: `r${n}`, data: { text: 'x'.repeat(103_000) } })),
    5,
  )
  await pages.put('large', { text: large })
})
afterAll(async () => {
  await stage?.close()
})

const queryBody = '{"hash":"page"}'
const publicHead = (method: string, path: string): Head => ({
  method,
  path,
  key: stage.attacker.organization.publicKey,
})
const pageAttack = (): UnreadAttack => ({
  kind: 'unread',
  connections,
  head: publicHead('POST', `${pages.path}/query`),
  body: queryBody,
})

const expectOthersServed = async (attack: UnreadAttack, forMs: number): Promise<Seen> => {
  const seen = await stage.play(attack, { forMs })
  expectNobodyRefused(seen)
  expect(seen.memory.peakBytes).toBeLessThan(memoryBytesMax)
  return seen
}

/** The connections that held the room are gone: the attacker's own key is served again, and takes its answers. */
const expectRoomAgain = async (): Promise<void> => {
  const reader = stage.server.as(stage.attacker.organization.publicKey)
  await eventually('the attacker itself is served', async () => {
    const { status, body } = await reader.post(`${pages.path}/query`, queryBody)
    return status === 200 && body.count === 10 ? true : undefined
  })
  for (let n = 0; n < 20; n++) expect((await reader.post(`${pages.path}/query`, queryBody)).status).toBe(200)
}

test('the pages are as large as pages get', async () => {
  const { text, body } = await pages.tryQuery({ hash: 'page' })
  expect({ count: body.count, nearlyFull: text.length > 1_000_000 }).toEqual({ count: 10, nearlyFull: true })
})

describe.skipIf(!canRefuseToRead())('connections that never take their answers: others are served', () => {
  test(`${connections} that ask for pages with a public key`, async () => {
    await expectOthersServed(pageAttack(), inFull(90_000, 2_000))
    await expectRoomAgain()
  })

  test(`${connections} that ask for many records by their keys`, async () => {
    const keys = Array.from({ length: 40 }, (_, n) => ({ hashKey: 'page', rangeKey: `r${n}` }))
    const attack = { ...pageAttack(), head: publicHead('POST', `${pages.path}/find`), body: JSON.stringify({ keys }) }
    await expectOthersServed(attack, inFull(20_000, 2_000))
    await expectRoomAgain()
  })

  test('1,000 that ask for a large record with a public key', async () => {
    const attack: UnreadAttack = {
      ...pageAttack(),
      connections: 1_000,
      head: publicHead('GET', pages.at('large')),
      body: '',
    }
    await expectOthersServed(attack, inFull(20_000, 1_500))
    await expectRoomAgain()
  })
})

test.skipIf(!canRefuseToRead())(
  '2,000 connections that never take the description, which needs no key: others are served',
  async () => {
    for (const path of inFull(['/openapi.json', '/docs'], ['/openapi.json'])) {
      const attack: UnreadAttack = { ...pageAttack(), connections: 2_000, head: publicHead('GET', path), body: '' }
      await expectOthersServed(attack, inFull(20_000, 1_500))
    }
  },
)

test('a slow reader gets its whole page', async () => {
  const { port } = stage.server
  let received = 0
  let head = ''
  const ended = Promise.withResolvers<void>()
  const body = queryBody
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(socket, bytes) {
        if (received === 0) head = bytes.toString('latin1').slice(0, 12)
        received += bytes.length
        socket.pause()
        setTimeout(() => socket.resume(), 5)
        if (bytes.toString('latin1').includes('"cursor":')) ended.resolve()
      },
      close: () => ended.resolve(),
    },
  })
  socket.write(
    `POST ${pages.path}/query HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${stage.attacker.organization.publicKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await ended.promise
  socket.terminate()
  expect({ head, whole: received > 1_030_000 }).toEqual({ head: 'HTTP/1.1 200', whole: true })
})
