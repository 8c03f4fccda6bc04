import { expect, test } from 'bun:test'
import { inParallel, useService } from '../http/service.ts'
import { connectRaw, rawRequest } from '../raw-connection.ts'

// Bun.serve closes a connection if a request arrives before the response to the last one; a bare handler does the same. The
// response to a read is often sent before the next request is parsed, so both may be served, in order. If more than that were
// applied, a client could not conclude from a closed connection that its second request was not applied.

const service = useService({})

type Kind = 'put' | 'get' | 'delete' | 'query'

interface Sent {
  kind: Kind
  hashKey: string
}

/** True if the answer belongs to the request. */
const belongsTo = ({ kind, hashKey }: Sent, status: number, body: unknown): boolean => {
  const record = body as { hashKey?: string; items?: { hashKey: string }[]; deleted?: boolean }
  if (status !== 200) return false
  if (kind === 'query') return record.items?.length === 1 && record.items[0]!.hashKey === hashKey
  if (kind === 'delete') return record.deleted === true
  return record.hashKey === hashKey
}

const pairs: [Kind, Kind][] = [
  ['put', 'put'],
  ['put', 'get'],
  ['put', 'query'],
  ['put', 'delete'],
  ['delete', 'put'],
  ['get', 'put'],
  ['query', 'put'],
  ['get', 'get'],
]

test.each(pairs)(
  '%s and %s in one segment: each response belongs to its request, and at most the first is applied',
  async (first, second) => {
    const { server } = service
    const table = await service.table()
    const bytesOf = ({ kind, hashKey }: Sent): Uint8Array => {
      const key = service.org.secretKey
      if (kind === 'put')
        return rawRequest(server, 'PUT', table.path, { key, body: JSON.stringify({ hashKey, data: { new: true } }) })
      if (kind === 'query')
        return rawRequest(server, 'POST', `${table.path}/query`, { key, body: JSON.stringify({ hash: hashKey }) })
      return rawRequest(server, kind === 'get' ? 'GET' : 'DELETE', table.at(hashKey), { key })
    }
    const outcomes = { closed: 0, both: 0 }
    await inParallel(
      Array.from({ length: 200 }, (_, n) => n),
      8,
      async (n) => {
        const sent: Sent[] = [
          { kind: first, hashKey: `first ${n}` },
          { kind: second, hashKey: `second ${n}` },
        ]
        // A record that is read or deleted has to be there.
        for (const { kind, hashKey } of sent) if (kind !== 'put') await table.put(hashKey, { new: false })

        const connection = await connectRaw(server.port)
        connection.send(Buffer.concat(sent.map(bytesOf)))
        const answers: { status: number; body: unknown }[] = []
        for (const _ of sent) {
          const answer = await connection.answer().catch(() => undefined)
          if (answer === undefined) break
          answers.push(answer)
        }
        connection.close()
        outcomes[answers.length < 2 ? 'closed' : 'both']++
        for (const [i, { status, body }] of answers.entries()) {
          expect({ n, i, status, body, fits: belongsTo(sent[i]!, status, body) }).toMatchObject({ fits: true })
        }
        // A request is not applied unless the one before it was answered.
        const applied = async ({ kind, hashKey }: Sent): Promise<boolean> => {
          const { status, body } = await table.get(hashKey)
          return kind === 'put' ? status === 200 && body.data.new === true : kind === 'delete' && status === 404
        }
        if (answers.length === 0) expect({ n, applied: await applied(sent[1]!) }).toEqual({ n, applied: false })
        for (const [i] of answers.entries()) {
          if (sent[i]!.kind === 'put' || sent[i]!.kind === 'delete') expect(await applied(sent[i]!)).toBe(true)
        }
      },
    )
    // A write is never answered before the next request is seen, so it is the last on its connection.
    if (first === 'put' || first === 'delete') expect(outcomes).toEqual({ closed: 200, both: 0 })
  },
)

test('a request sent after the response to the last one is served on the same connection', async () => {
  const table = await service.table()
  const connection = await connectRaw(service.server.port)
  for (let n = 0; n < 50; n++) {
    const body = JSON.stringify({ hashKey: `k${n}`, data: {} })
    connection.send(rawRequest(service.server, 'PUT', table.path, { key: service.org.secretKey, body }))
    expect((await connection.answer()).body.hashKey).toBe(`k${n}`)
  }
  connection.close()
})
