import { afterEach, describe, expect, test } from 'bun:test'
import { BodyReader } from '../../src/http/body.ts'
import { BodyAbandoned } from '../../src/http/body-faults.ts'

const text = '{"records":[]}'

let reader: BodyReader
afterEach(() => reader.stop())

/** A request whose body arrives when the test says so. */
const requestWithBody = () => {
  let send!: (bytes: Uint8Array) => void
  let cut!: (error: Error) => void
  const arriving = new Promise<Uint8Array>((resolve, reject) => {
    send = resolve
    cut = reject
  })
  const headers = new Headers({ 'content-type': 'application/json', 'content-length': String(text.length) })
  const request = { headers, body: {}, bytes: () => arriving } as unknown as Request
  return { request, send: () => send(Buffer.from(text)), cut: () => cut(new Error('the connection was closed')) }
}

const read = (request: Request) => {
  const used: string[] = []
  const refused: unknown[] = []
  const holder = { orgId: 1, keySeq: 1, heldBytes: 0, receivedBytes: 0 }
  const use = (body: string): string => {
    used.push(body)
    return 'used'
  }
  const refuse = (error: unknown): string => {
    refused.push(error)
    return 'refused'
  }
  return { used, refused, ended: reader.read(request, 1_000, holder, use, refuse) }
}

describe('a small body', () => {
  test('that arrives in time is used once', async () => {
    reader = new BodyReader()
    const { request, send } = requestWithBody()
    const { used, refused, ended } = read(request)
    send()
    expect(await ended).toBe('used')
    expect(used).toEqual([text])
    expect(refused).toEqual([])
  })

  test('that arrives after its time was refused, and takes no effect', async () => {
    reader = new BodyReader(1, 1)
    const { request, send } = requestWithBody()
    const { used, refused, ended } = read(request)
    expect(await ended).toBe('refused')
    expect(refused[0]).toBeInstanceOf(BodyAbandoned)
    send()
    await Bun.sleep(20)
    expect(used).toEqual([])
    expect(refused).toHaveLength(1)
  })

  test('that is cut short after its time is refused once', async () => {
    reader = new BodyReader(1, 1)
    const { request, cut } = requestWithBody()
    const { used, refused, ended } = read(request)
    expect(await ended).toBe('refused')
    cut()
    await Bun.sleep(20)
    expect(used).toEqual([])
    expect(refused).toHaveLength(1)
  })
})
