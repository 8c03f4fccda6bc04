import type { RequestOptions, Send } from './transport.ts'

export interface ListOptions extends RequestOptions {
  /** Items per page. Default 100, at most 1,000. */
  limit?: number
  cursor?: string | null
}

interface Page {
  cursor: string | null
}

/**
 * Await it to get one page. Iterate it to get the items of that page and of all pages after it; each page is requested
 * when it is needed. Nothing is sent before that. Every await and every iteration sends new requests.
 */
export class Pages<P extends Page, Item> implements PromiseLike<P>, AsyncIterable<Item> {
  /** @internal */
  static readonly name: string = 'Pages'
  readonly #request: (cursor: string | null | undefined) => Promise<P>
  readonly #items: (page: P) => Item[]

  constructor(request: (cursor: string | null | undefined) => Promise<P>, items: (page: P) => Item[]) {
    this.#request = request
    this.#items = items
  }

  // biome-ignore lint/suspicious/noThenProperty: a real promise would send the request before the caller chooses to await or iterate, and its rejection would be unhandled if the caller iterates.
  then<A = P, B = never>(
    resolve?: ((page: P) => A | PromiseLike<A>) | null,
    reject?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#request(undefined).then(resolve, reject)
  }

  /** Iterates pages instead of items, up to the last one. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let cursor: string | null | undefined
    do {
      const page = await this.#request(cursor)
      yield page
      cursor = page.cursor
    } while (cursor != null)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* this.#items(page)
  }
}

interface QueryPage<Item> extends Page {
  items: Item[]
  count: number
}

/** The pages of a query of records or files. */
export const queryPages = <P extends QueryPage<Item>, Item>(
  send: Send,
  path: string,
  query: object,
  options: RequestOptions | undefined,
): Pages<P, Item> =>
  new Pages(
    (cursor) => {
      const body = JSON.stringify(cursor === undefined ? query : { ...query, cursor })
      return send<P>({ method: 'POST', path: `${path}/query`, effect: 'read', body }, options)
    },
    (page) => page.items,
  )

/** The number of what a query finds, in all its pages. */
export const countAll = async (
  send: Send,
  path: string,
  query: object,
  options: RequestOptions | undefined,
): Promise<number> => {
  let count = 0
  for await (const page of queryPages(send, path, { ...query, select: 'count' }, options).pages()) count += page.count
  return count
}
