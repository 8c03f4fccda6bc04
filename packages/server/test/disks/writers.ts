import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { type Api, eventually } from '../harness.ts'

export const tablePath = '/v1/app/disks'

const writers = 16
const keysPerWriter = 400
const recordsPerBatch = 10
/** A row fills a page and has no overflow page: a dropped write of a new page would make the database file too short. */
const filler = 'x'.repeat(3_900)

/** Until all that was committed is in the database file, and no checkpoint is on its way. */
export const untilCopied = async (dataDir: string): Promise<void> => {
  const beside = new Database(join(dataDir, 'cubby.db'))
  // The server leaves a small rest in the WAL when writes pause.
  const checkpoint = beside.prepare<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(PASSIVE)')
  await eventually('all is copied', () => {
    const { log, checkpointed } = checkpoint.get()!
    return log === checkpointed || undefined
  })
  checkpoint.finalize()
  beside.close()
}

/** Writers that overwrite their own records in batches and remember the responses. */
export class Ledger {
  /** The records by name, each with the last round that was acknowledged, and the last that was sent. */
  readonly #acknowledged = new Map<string, number>()
  readonly #sent = new Map<string, number>()
  #round = 0
  /** The number of batches that were acknowledged. */
  batches = 0

  get size(): number {
    return this.#acknowledged.size
  }

  /** Writes every record once: a lost page would show these versions again. */
  async fill(api: Api): Promise<void> {
    await this.#inParallel(async (writer) => {
      for (let first = 0; first < keysPerWriter; first += recordsPerBatch) {
        const keys = Array.from({ length: recordsPerBatch }, (_, i) => `w${writer}-${first + i}`)
        if (!(await this.#write(api, keys))) throw new Error('a record could not be put')
      }
    })
  }

  /** Random records, until `isDone` or a request fails. */
  async overwrite(api: Api, isDone: () => boolean): Promise<void> {
    await this.#inParallel(async (writer) => {
      while (!isDone()) {
        const keys = new Set<string>()
        while (keys.size < recordsPerBatch) keys.add(`w${writer}-${Math.floor(Math.random() * keysPerWriter)}`)
        if (!(await this.#write(api, [...keys]))) return
      }
    })
  }

  async #inParallel(work: (writer: number) => Promise<void>): Promise<void> {
    await Promise.all(Array.from({ length: writers }, (_, writer) => work(writer)))
  }

  async #write(api: Api, keys: string[]): Promise<boolean> {
    const round = ++this.#round
    for (const key of keys) this.#sent.set(key, round)
    const operations = keys.map((hashKey) => ({ op: 'put', hashKey, data: { round, filler } }))
    const answer = await api.post(`${tablePath}/batch`, { operations }).catch(() => undefined)
    if (answer?.status !== 200) return false
    for (const key of keys) this.#acknowledged.set(key, round)
    this.batches++
    return true
  }

  /** Records that are older than what was acknowledged, or newer than what was sent; the first few of them. */
  async faults(api: Api): Promise<string[]> {
    const found = new Map<string, number>()
    let cursor: string | null = null
    do {
      const page = await api.post(`${tablePath}/query`, { index: 't', limit: 1_000, cursor })
      if (page.status !== 200) return [page.text]
      for (const { hashKey, data } of page.body.items) found.set(hashKey, data.round)
      cursor = page.body.cursor
    } while (cursor !== null)
    const faults = [...this.#acknowledged].filter(([key, acknowledged]) => {
      const round = found.get(key)
      return round === undefined || round < acknowledged || round > this.#sent.get(key)!
    })
    return faults.slice(0, 5).map(([key, round]) => `${key}: ${round} of ${faults.length}, found ${found.get(key)}`)
  }
}
