import { ObjectWalk, valueSpan } from './json-span.ts'

/** A member that gets another value, or is removed. */
interface EditedMember {
  position: number
  start: number
  valueStart: number
  end: number
  /** The end of the member before it. */
  endBefore: number
  /** The start of the member after it. Known while all members so far are edited. */
  startAfter: number
  /** Returns the text of the new value; undefined if the member is removed. */
  write: (() => string) | undefined
}

/**
 * Edits one object of a text that is already checked to be JSON: walk over its members, say what becomes of each, then write
 * the object. What is not edited stays byte for byte. Values are made by `write`, because only then it is known which of
 * several members with one name is the last.
 */
export class ObjectEdit {
  readonly #text: string
  readonly #start: number
  readonly #walk: ObjectWalk
  readonly #edited: EditedMember[] = []
  /** The last edited member of each name. */
  readonly #byName = new Map<string, EditedMember>()
  #lastEnd: number

  constructor(text: string, at: number) {
    this.#text = text
    this.#start = at
    this.#walk = new ObjectWalk(text, at, undefined)
    this.#lastEnd = at + 1
  }

  /** Moves to the next member. The caller then keeps, replaces or removes it. */
  next(): boolean {
    if (!this.#walk.next()) return false
    const { position, nameStart } = this.#walk
    if (position > 0 && position === this.#edited.length) this.#edited[position - 1]!.startAfter = nameStart
    return true
  }

  /** The name of the member, unescaped. */
  get name(): string {
    return this.#walk.name
  }

  /** The start of the value; after the walk the end of the object. */
  get at(): number {
    return this.#walk.at
  }

  /** `end` is the end of the value, if the caller knows it. */
  keep(end = valueSpan(this.#text, this.#walk.at).end): void {
    this.#walk.at = this.#lastEnd = end
  }

  /** `end` is the end of the value that is there. An earlier member of the same name is removed. */
  replace(end: number, write: () => string): void {
    this.#edit(end, write)
  }

  /** Removes the member, and earlier ones of the same name. */
  remove(): void {
    this.#edit(valueSpan(this.#text, this.#walk.at).end, undefined)
  }

  #edit(end: number, write: (() => string) | undefined): void {
    const { position, nameStart: start, at: valueStart, name } = this.#walk
    const member = { position, start, valueStart, end, endBefore: this.#lastEnd, startAfter: -1, write }
    const earlier = this.#byName.get(name)
    if (earlier !== undefined) earlier.write = undefined
    this.#byName.set(name, member)
    this.#edited.push(member)
    this.#walk.at = this.#lastEnd = end
  }

  get isEdited(): boolean {
    return this.#edited.length > 0
  }

  /** Tells whether a member of this name was replaced or removed. */
  has(name: string): boolean {
    return this.#byName.has(name)
  }

  /** Writes the object after the walk. `added` are the texts of new members, which follow the last one that is left. */
  write(added: string[]): string {
    const text = this.#text
    const edited = this.#edited
    const members = this.#walk.position
    // The members that are removed at the beginning go with the comma after them, all others with the comma before them.
    let leading = 0
    while (leading < edited.length && isRemoved(edited[leading]!, leading)) leading++
    let trailing = edited.length
    while (trailing > leading && isRemoved(edited[trailing - 1]!, members + trailing - edited.length - 1)) trailing--

    let written = text.slice(this.#start, leading === 0 ? this.#start + 1 : edited[0]!.start)
    let copied = leading === 0 ? this.#start + 1 : edited[leading - 1]!.startAfter
    if (leading === members) {
      written = `{${added.join(',')}${written.slice(1)}`
      copied = this.#lastEnd
    } else {
      for (let i = leading; i < trailing; i++) {
        const { valueStart, end, endBefore, write } = edited[i]!
        written += text.slice(copied, write === undefined ? endBefore : valueStart)
        if (write !== undefined) written += write()
        copied = end
      }
      written += text.slice(copied, trailing === edited.length ? this.#lastEnd : edited[trailing]!.endBefore)
      for (const member of added) written += `,${member}`
      copied = this.#lastEnd
    }
    return written + text.slice(copied, this.#walk.at)
  }
}

const isRemoved = ({ position, write }: EditedMember, at: number): boolean => write === undefined && position === at
