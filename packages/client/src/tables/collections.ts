import { matches, refusal } from '../transport/errors.ts'
import { listPath } from '../transport/list-path.ts'
import { type ListOptions, Pages } from '../transport/pages.ts'
import type { RequestOptions, Send } from '../transport/transport.ts'

const namePattern = /^[a-z0-9_-]{1,64}$/

/** Checks the name of a database, table, bucket or task before it goes into a path. */
export const checkName = (name: string, field: string): string => {
  if (matches(namePattern, name)) return name
  throw refusal('invalid_name', field, `is ${JSON.stringify(name)}; it takes a string: [a-z0-9_-]{1,64}.`)
}

type Page<Member extends string, Item> = { [M in Member]: Item[] } & { cursor: string | null }

/**
 * The calls that tables, buckets and tasks share. `Member` is the field of a page that holds them; `Asked` is what else a
 * caller may ask for.
 */
export class Collections<Active, Deleted, Member extends string, Asked extends { counts?: boolean } = object> {
  /** @internal */
  protected readonly send: Send
  readonly #path: string
  readonly #kind: string

  /** Use `db('app').tables`, `db('app').buckets` or `db('app').tasks` instead. */
  constructor(send: Send, path: string, kind: string) {
    this.send = send
    this.#path = path
    this.#kind = kind
  }

  /** @internal */
  protected pathOf(name: string): string {
    return `${this.#path}/${checkName(name, this.#kind)}`
  }

  /** @internal */
  protected post<T>(path: string, properties: object | undefined, options: RequestOptions | undefined): Promise<T> {
    return this.send({ method: 'POST', path, effect: 'write', body: properties && JSON.stringify(properties) }, options)
  }

  async describe(name: string, options: RequestOptions & Asked = {} as Asked): Promise<Active> {
    const path = listPath(this.pathOf(name), { counts: options.counts })
    return this.send({ method: 'GET', path, effect: 'read' }, options)
  }

  /** Sorted by name. `deleted: true` lists the dropped ones that can still be restored. */
  list(options: ListOptions & Asked & { deleted: true }): Pages<Page<Member, Deleted>, Deleted>
  list(options?: ListOptions & Asked & { deleted?: false }): Pages<Page<Member, Active>, Active>
  list(options: ListOptions & { counts?: boolean; deleted?: boolean } = {}): unknown {
    const { limit, deleted, counts } = options
    return new Pages(
      (cursor = options.cursor) => {
        const path = listPath(this.#path, { limit, cursor, deleted: deleted || undefined, counts })
        return this.send<Page<string, unknown>>({ method: 'GET', path, effect: 'read' }, options)
      },
      (page) => page[`${this.#kind}s`]!,
    )
  }

  /** Soft-deletes it. `restore` brings it back, with its records, files or runs, for 7 days. */
  async drop(name: string, options?: RequestOptions): Promise<Deleted> {
    return this.send({ method: 'DELETE', path: this.pathOf(name), effect: 'write' }, options)
  }

  /** Restores the one of this name that was dropped last, or the one dropped at `deletedAt`. */
  async restore(name: string, which?: { deletedAt?: number }, options?: RequestOptions): Promise<Active> {
    return this.post(`${this.pathOf(name)}/restore`, which, options)
  }
}
