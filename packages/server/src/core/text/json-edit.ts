import { skipSpace, skipString } from './json-scan.ts'
import { oneOf, unquote, valueEnd } from './json-span.ts'

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c

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

/** Up to this length a name is searched for its end unit by unit. */
const shortNameUnits = 32

const skipName = (text: string, at: number): number => {
  for (let i = at + 1; i < at + shortNameUnits; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) return i + 1
    if (code === backslash) break
  }
  return skipString(text, at)
}

/** Up to this many names are compared one by one, without making a string of the name in the text. */
const comparedNamesMax = 4

/** Names to look for in an object. */
export class SoughtNames {
  readonly #names: ReadonlyMap<string, unknown>
  readonly #few: readonly string[] | undefined

  constructor(names: ReadonlyMap<string, unknown>) {
    this.#names = names
    this.#few = names.size <= comparedNamesMax ? [...names.keys()] : undefined
  }

  /** The name at this place, unescaped, if it is one of them. */
  find(text: string, start: number, end: number): string | undefined {
    if (this.#few !== undefined) return oneOf(this.#few, text, start, end)
    const name = unquote(text, start, end)
    return this.#names.has(name) ? name : undefined
  }
}

/**
 * Edits one object of a text that is already checked to be JSON: walk over the members that are looked for, say what becomes
 * of each, then write the object. What is not edited stays byte for byte. New values are made by functions, because only
 * after the walk it is known which of several members with one name is the last.
 */
export class ObjectEdit {
  readonly #text: string
  readonly #start: number
  /** Undefined if the walk is over all members, whose names are not needed. */
  readonly #names: SoughtNames | undefined
  readonly #edited: EditedMember[] = []
  /** The last edited member of each name. */
  #byName: Map<string, EditedMember> | undefined
  #name: string | undefined
  #nameStart = 0
  #position = -1
  /** The start of the value; after the walk the end of the object. */
  #at: number
  /** The end of the last member. */
  #lastEnd: number

  /** The object starts at `at`. */
  constructor(text: string, at: number, names: SoughtNames | undefined) {
    this.#text = text
    this.#start = at
    this.#names = names
    this.#at = this.#lastEnd = at + 1
  }

  /** Moves to the next member of those names. The caller then keeps, replaces or removes it. */
  next(): boolean {
    const text = this.#text
    for (;;) {
      let at = skipSpace(text, this.#lastEnd)
      if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1)
      this.#position++
      if (text.charCodeAt(at) !== quote) {
        this.#at = at + 1
        return false
      }
      const edited = this.#edited.length
      if (edited > 0 && edited === this.#position) this.#edited[edited - 1]!.startAfter = at
      const nameEnd = skipName(text, at)
      const valueStart = skipSpace(text, skipSpace(text, nameEnd) + 1)
      const name = this.#names?.find(text, at, nameEnd)
      if (this.#names === undefined || name !== undefined) {
        this.#name = name
        this.#nameStart = at
        this.#at = valueStart
        return true
      }
      this.#lastEnd = valueEnd(text, valueStart)
    }
  }

  /** The name of the member, unescaped. */
  get name(): string {
    return this.#name!
  }

  /** The start of the value; after the walk the end of the object. */
  get at(): number {
    return this.#at
  }

  /** `end` is the end of the value, if the caller knows it. */
  keep(end = valueEnd(this.#text, this.#at)): void {
    this.#lastEnd = end
  }

  /** `end` is the end of the value that is there. An earlier member of the same name is removed. */
  replace(end: number, write: () => string): void {
    this.#edit(end, write)
  }

  /** Removes the member, and earlier ones of the same name. */
  remove(): void {
    this.#edit(valueEnd(this.#text, this.#at), undefined)
  }

  #edit(end: number, write: (() => string) | undefined): void {
    const member: EditedMember = {
      position: this.#position,
      start: this.#nameStart,
      valueStart: this.#at,
      end,
      endBefore: this.#lastEnd,
      startAfter: -1,
      write,
    }
    if (this.#name !== undefined) {
      this.#byName ??= new Map()
      const earlier = this.#byName.get(this.#name)
      if (earlier !== undefined) earlier.write = undefined
      this.#byName.set(this.#name, member)
    }
    this.#edited.push(member)
    this.#lastEnd = end
  }

  get isEdited(): boolean {
    return this.#edited.length > 0
  }

  /** Tells whether a member of this name was replaced or removed. */
  has(name: string): boolean {
    return this.#byName?.has(name) === true
  }

  /** Writes the object after the walk. `added` are the texts of new members, which follow the last one that is left. */
  write(added: string[]): string {
    const text = this.#text
    const edited = this.#edited
    const members = this.#position
    const open = this.#start + 1
    const rest = text.slice(this.#lastEnd, this.#at)
    // The members that are removed at the beginning go with the comma after them, all others with the comma before them.
    let leading = 0
    while (leading < edited.length && isRemoved(edited[leading]!, leading)) leading++
    const space = leading === 0 ? '' : text.slice(open, edited[0]!.start)
    if (leading === members) return `{${added.join(',')}${space}${rest}`

    let trailing = edited.length
    while (trailing > leading && isRemoved(edited[trailing - 1]!, members - edited.length + trailing - 1)) trailing--
    let written = `{${space}`
    let copied = leading === 0 ? open : edited[leading - 1]!.startAfter
    for (let i = leading; i < trailing; i++) {
      const { valueStart, end, endBefore, write } = edited[i]!
      written += text.slice(copied, write === undefined ? endBefore : valueStart)
      if (write !== undefined) written += write()
      copied = end
    }
    written += text.slice(copied, trailing === edited.length ? this.#lastEnd : edited[trailing]!.endBefore)
    for (const member of added) written += `,${member}`
    return written + rest
  }
}

const isRemoved = ({ position, write }: EditedMember, at: number): boolean => write === undefined && position === at
