import { expect } from 'bun:test'
import type { Server } from '../harness.ts'
import { makeTable, ok, type TestTable } from '../http/service.ts'
import { connectRaw, type RawConnection, rawRequest } from '../raw-connection.ts'

// What the tests of interrupted loads share: lines whose number is in their key, and what must be stored of them.

const hashKey = 'line'
const rangeKeyOf = (n: number): string => String(n).padStart(7, '0')

const line = (n: number): string =>
  `${JSON.stringify({ hashKey, rangeKey: rangeKeyOf(n), data: { n, text: `${(n * 7919) % 104_729}` } })}\n`

/** The lines from `from` on, below `to`. */
export const linesOf = (from: number, to: number): string => {
  let text = ''
  for (let n = from; n < to; n++) text += line(n)
  return text
}

/** How the body of a load is sent. */
export type BodyKind = 'chunked' | 'of a length' | 'gzip'
export const bodyKinds: BodyKind[] = ['chunked', 'of a length', 'gzip']

export class SentLoad {
  readonly #connection: RawConnection
  readonly #kind: BodyKind

  private constructor(connection: RawConnection, kind: BodyKind) {
    this.#connection = connection
    this.#kind = kind
  }

  /** Sends the head. `bytes`: the length, if the body has one. */
  static async begin(server: Server, table: TestTable, kind: BodyKind, bytes = 2 ** 40, query = ''): Promise<SentLoad> {
    const connection = await connectRaw(server.port, 90_000)
    const headers: [string, string][] =
      kind === 'of a length' ? [['Content-Length', String(bytes)]] : [['Transfer-Encoding', 'chunked']]
    if (kind === 'gzip') headers.push(['Content-Encoding', 'gzip'])
    connection.send(rawRequest(server, 'POST', `${table.path}/load${query}`, { key: table.api.key, headers }))
    return new SentLoad(connection, kind)
  }

  send(text: string): void {
    const bytes = this.#kind === 'gzip' ? Bun.gzipSync(Buffer.from(text)) : Buffer.from(text)
    if (this.#kind === 'of a length') this.#connection.send(bytes)
    else
      this.#connection.send(
        Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]),
      )
  }

  end(): void {
    if (this.#kind !== 'of a length') this.#connection.send('0\r\n\r\n')
  }

  answer = (): ReturnType<RawConnection['answer']> => this.#connection.answer()

  get closed(): Promise<void> {
    return this.#connection.closed
  }

  close(): void {
    this.#connection.close()
  }
}

/** A table whose records have an index. */
export const makeLoadTable = (server: Server, key: string): Promise<TestTable> =>
  makeTable(server.as(key), { i1: { hashField: 'text', rangeField: 'n' } })

/** The number of the last line that is stored, plus one; 0 if none is. */
export const storedUpTo = async (table: TestTable): Promise<number> => {
  const { items } = ok(await table.api.post(`${table.path}/query`, { hash: hashKey, ascending: false, limit: 1 }))
  return items.length === 0 ? 0 : items[0].data.n + 1
}

/** Returns how many lines are stored, and fails unless they are the first ones. */
export const countFirstLines = async (table: TestTable): Promise<number> => {
  let count = 0
  let cursor: string | undefined
  do {
    const page = ok(await table.api.post(`${table.path}/query`, { hash: hashKey, limit: 1_000, cursor }))
    for (const { rangeKey, data } of page.items) {
      expect({ rangeKey, n: data.n }).toEqual({ rangeKey: rangeKeyOf(count), n: count })
      count++
    }
    cursor = page.cursor ?? undefined
  } while (cursor !== undefined)
  return count
}
