import { pageRowsMax } from '../../core/limits.ts'
import type { RecordKey } from '../../core/records/record-key.ts'
import { valueSpan, walkArray, walkObject } from '../../core/text/json-span.ts'
import type { RoutedOperationId } from '../../operations/catalogue.ts'
import { type Remote, requestOf } from '../target/remote.ts'

/** A page of a list, split but not parsed: the text of its records stays as it is. */
export interface PageText {
  /** The whole answer. */
  text: string
  items: string[]
  /** The folders of a bucket, as JSON texts. */
  folders: string[]
  count: number
  cursor: string | null
}

/** `list`: the member with the items. */
export const splitPage = (text: string, list = 'items'): PageText => {
  const [items, folders]: [string[], string[]] = [[], []]
  let count = 0
  let cursor: string | null = null
  walkObject(text, 0, '', (name, start) => {
    if (name === list || name === 'folders') {
      const entries = name === list ? items : folders
      return walkArray(text, start, (_, entryStart) => {
        const { end } = valueSpan(text, entryStart)
        entries.push(text.slice(entryStart, end))
        return end
      })
    }
    const { end } = valueSpan(text, start)
    if (name === 'count') count = Number(text.slice(start, end))
    if (name === 'cursor') cursor = JSON.parse(text.slice(start, end))
    return end
  })
  return { text, items, folders, count, cursor }
}

/** The entries of a listing as JSON texts, page by page. `list`: the member with the entries. */
export async function* listPages(
  remote: Remote,
  id: RoutedOperationId,
  list: string,
  input: Readonly<Record<string, unknown>>,
): AsyncIterable<string[]> {
  for (let after: string | undefined; ; ) {
    const call = requestOf(id, { ...input, limit: pageRowsMax, cursor: after })
    const { items, cursor } = splitPage(await remote.request({ ...call, repeatable: true }), list)
    yield items
    if (cursor === null) return
    after = cursor
  }
}

/** `query` holds the members of the body as JSON texts; a `cursor` among them starts after an earlier page. */
export const queryPage = async (
  remote: Remote,
  db: string,
  table: string,
  query: Record<string, string>,
): Promise<PageText> => {
  const members = Object.entries(query).map(([name, text]) => `"${name}":${text}`)
  return splitPage(
    await remote.request({
      method: 'POST',
      path: `/v1/${db}/${table}/query`,
      body: `{${members.join(',')}}`,
      repeatable: true,
    }),
  )
}

/** Yields that page and all after it. */
export async function* queryPages(
  remote: Remote,
  db: string,
  table: string,
  query: Record<string, string>,
): AsyncIterable<PageText> {
  for (let more = query; ; ) {
    const page = await queryPage(remote, db, table, more)
    yield page
    if (page.cursor === null) return
    more = { ...more, cursor: JSON.stringify(page.cursor) }
  }
}

/** The record's text. By a query: proxies would decode a slash of the key in a path. */
export const queryKey = async (
  remote: Remote,
  db: string,
  table: string,
  { hashKey, rangeKey }: RecordKey,
): Promise<string | undefined> => {
  const query = { hash: JSON.stringify(hashKey), range: `{"eq":${JSON.stringify(rangeKey)}}` }
  for await (const { items } of queryPages(remote, db, table, query)) if (items.length > 0) return items[0]
  return undefined
}

/** The members of a record in an answer, each as JSON text. */
export const memberTexts = (text: string): Map<string, string> => {
  const texts = new Map<string, string>()
  walkObject(text, 0, '', (name, start) => {
    const { end } = valueSpan(text, start)
    texts.set(name, text.slice(start, end))
    return end
  })
  return texts
}
