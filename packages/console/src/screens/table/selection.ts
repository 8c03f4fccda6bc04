import { signal } from '@preact/signals'

// The selected rows. Shift extends from the row where the selection began.

/** The part of `ids` from one place to another, in either direction. */
const between = (ids: readonly string[], from: number, to: number): string[] =>
  ids.slice(Math.min(from, to), Math.max(from, to) + 1)

export class Selection {
  readonly ids = signal<ReadonlySet<string>>(new Set())
  /** The row where the extension began, and the rows that were selected before it. */
  #anchor: string | undefined
  #before: ReadonlySet<string> = new Set()

  toggle(id: string): void {
    const next = new Set(this.ids.value)
    if (!next.delete(id)) next.add(id)
    this.#begin(id, next)
    this.ids.value = next
  }

  /** Selects from the anchor, or else from `start`, to `end`. */
  extend(all: readonly string[], start: string, end: string): void {
    if (this.#anchor === undefined || !all.includes(this.#anchor)) this.#begin(start, this.ids.value)
    const range = between(all, all.indexOf(this.#anchor!), all.indexOf(end))
    this.ids.value = new Set([...this.#before, ...range])
  }

  all(ids: readonly string[]): void {
    this.#anchor = undefined
    this.ids.value = new Set(ids)
  }

  /** An arrow key without shift ends the extension. */
  rest(): void {
    this.#anchor = undefined
  }

  drop(ids: ReadonlySet<string>): void {
    if (this.ids.value.size > 0) this.ids.value = new Set([...this.ids.value].filter((id) => !ids.has(id)))
  }

  #begin(id: string, before: ReadonlySet<string>): void {
    this.#anchor = id
    this.#before = before
  }
}
