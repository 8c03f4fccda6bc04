interface Page {
  cursor: string | null
}

/**
 * Await it for one page; iterate it for the items of all pages from there on, each page requested when it is needed.
 * Nothing is sent before that. Each time it is awaited or iterated it asks anew.
 */
export class Pages<P extends Page, Item> implements PromiseLike<P>, AsyncIterable<Item> {
  readonly #request: (cursor: string | null | undefined) => Promise<P>
  readonly #items: (page: P) => Item[]

  constructor(request: (cursor: string | null | undefined) => Promise<P>, items: (page: P) => Item[]) {
    this.#request = request
    this.#items = items
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise proper would send the request before it is known what for, and reject unheard if it is iterated later.
  then<A = P, B = never>(
    resolve?: ((page: P) => A | PromiseLike<A>) | null,
    reject?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#request(undefined).then(resolve, reject)
  }

  /** The pages themselves, to the last one. */
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
