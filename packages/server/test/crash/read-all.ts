import type { Api, Json } from '../harness.ts'
import type { FoundRecords } from './ledger.ts'
import { tablePath } from './writers.ts'

const readQuery = async (api: Api, query: object): Promise<Json[]> => {
  const items: Json[] = []
  let cursor: string | null = null
  do {
    const answer = await api.post(`${tablePath}/query`, { ...query, limit: 1_000, cursor })
    if (answer.status !== 200) throw new Error(`A query answered ${answer.status} ${answer.text}`)
    items.push(...answer.body.items)
    cursor = answer.body.cursor
  } while (cursor !== null)
  return items
}

const place = (item: Json): string => `${item.hashKey}/${item.rangeKey}`

/** The content of an index, as lines that can be compared in any order. */
const lines = (items: Json[]): string[] =>
  items.map((item) => `${place(item)} ${item.data.mark} ${item.updatedAt}`).toSorted()

/** Every record, and each place where another index says something else. */
export const readAll = async (api: Api): Promise<{ found: FoundRecords; faults: string[] }> => {
  const items = await readQuery(api, { index: 't' })
  const faults: string[] = []
  const compare = async (query: object, belongs: (item: Json) => boolean): Promise<void> => {
    const [there, here] = [lines(await readQuery(api, query)), lines(items.filter(belongs))]
    if (JSON.stringify(there) !== JSON.stringify(here)) {
      faults.push(`${JSON.stringify(query)} has ${there.length} records, t has ${here.length}, or they differ`)
    }
  }
  for (const owner of new Set(items.map((item) => item.hashKey as string))) {
    await compare({ hash: owner }, (item) => item.hashKey === owner)
    await compare({ index: 'i1', hash: owner }, (item) => item.data.owner === owner)
  }
  for (const unit of ['s0', 's1', 's2', 's3', 'g', 'h', 'r', 'hot']) {
    await compare({ index: 'i3', hash: unit }, (item) => item.data.unit === unit)
  }
  const found = new Map(items.map((item) => [place(item), { mark: item.data.mark, updatedAt: item.updatedAt }]))
  if (found.size !== items.length) faults.push('t has a record twice')
  return { found, faults }
}
