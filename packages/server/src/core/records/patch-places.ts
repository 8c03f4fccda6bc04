import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { patchDigitsMax } from '../limits.ts'
import { addDecimals, compareSum, parseDecimal, writeDecimal } from '../text/decimal.ts'
import { ObjectEdit, SoughtNames } from '../text/json-edit.ts'
import { lastBefore, skipSpace } from '../text/json-scan.ts'
import { ArrayWalk, shallowValue, valueEnd, valueSpan } from '../text/json-span.ts'

// The places of `data` that `increment` and `append` name. One walk over the text reaches all of them, whatever their number
// and depth.

/** Adds to the number at a place of `data`. All numbers are texts, as they were sent. */
export interface Increment {
  pointer: string
  by: string
  min?: string
  max?: string
}

/** Adds elements to the array at a place of `data`. */
export interface Append {
  pointer: string
  /** The text between the brackets of the array, as it was sent. */
  values: string
}

const shorten = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text).toWellFormed()

/** The field of errors about a pointer. `list` is `increment` or `append`, with the prefix of a batch. */
export const pointerField = (list: string, pointer: string): string => `${list}[${JSON.stringify(shorten(pointer))}]`

/** What a patch does at one place. */
interface Operation {
  pointer: string
  field: string
  /** The error for a place that holds something else. */
  code: 'not_a_number' | 'not_an_array'
  /** The text of the member that is missing. */
  create(): string
  /** The new text of the value from `start` to `end`. */
  change(text: string, start: number, end: number): string
}

/** A place that a pointer leads to, or through. */
interface Place {
  /** The number of names and indices that lead here. */
  level: number
  operation: Operation | undefined
  /** The first of the operations here and below. */
  first: Operation
  /** By the name or index that leads on, in the order in which missing members are made. */
  children: Map<string, Place>
  /** Those of the children, when an object is here. */
  names?: SoughtNames
}

/** The value at a place, when its end is known. */
interface EditedValue {
  end: number
  write: () => string
}

const shownPlace = ({ first, level }: Place): string =>
  level === 0 ? 'data' : JSON.stringify(shorten(first.pointer.split('/', level + 1).join('/')))

/** What a sum is not allowed to be, and what no increment may lead to. */
const refuseType = ({ code, field }: Operation, found: string): CubbyError => {
  const wanted = code === 'not_a_number' ? 'a number' : 'an array'
  return new CubbyError(code, `${field} leads to ${found}; it takes ${wanted}, or a member that is missing.`, {
    field,
    hint: `Set the place to ${wanted} first; merge does it in the same request.`,
  })
}

const smallInteger = /^-?[0-9]{1,15}$/

const sum = (operation: Operation, number: string, { by, min, max }: Increment): string => {
  const isSmall = smallInteger.test(number) && smallInteger.test(by)
  if (isSmall && min === undefined && max === undefined) return String(Number(number) + Number(by))
  const { field, code } = operation
  const present = parseDecimal(number)
  const limits = `at most ${patchDigitsMax} significant digits, and 0 or a size from 1e-308 to below 1e309`
  if (present === undefined) {
    throw new CubbyError(code, `${field} leads to a number that cannot be added to exactly; it takes ${limits}.`, {
      field,
    })
  }
  const operand = parseDecimal(by)!
  for (const [bound, name, sign] of [
    [min, 'min', -1],
    [max, 'max', 1],
  ] as const) {
    if (bound === undefined || compareSum(present, operand, parseDecimal(bound)!) !== sign) continue
    const side = sign < 0 ? 'below' : 'above'
    const message = `${field} would make it ${side} ${name}, ${shorten(bound)}; nothing was changed.`
    throw new CubbyError('precondition_failed', message, {
      field,
      hint: `The number is ${shorten(number)}. Send a patch whose sum is within the bounds.`,
    })
  }
  const total = addDecimals(present, operand)
  if (total === undefined) {
    throw new CubbyError(code, `${field} has a sum that cannot be written exactly; it takes ${limits}.`, { field })
  }
  return writeDecimal(total)
}

const isNumber = (code: number): boolean => code === 0x2d || (code >= 0x30 && code <= 0x39)

const incrementAt = (increment: Increment, field: string): Operation => ({
  pointer: increment.pointer,
  field,
  code: 'not_a_number',
  create() {
    return sum(this, '0', increment)
  },
  change(text, start, end) {
    if (isNumber(text.charCodeAt(start))) return sum(this, text.slice(start, end), increment)
    throw refuseType(this, describeValue(shallowValue(text, { start, end, depth: 0 })))
  },
})

const appendAt = ({ pointer, values }: Append, field: string): Operation => ({
  pointer,
  field,
  code: 'not_an_array',
  create: () => `[${values}]`,
  change(text, start, end) {
    if (text[start] !== '[') throw refuseType(this, describeValue(shallowValue(text, { start, end, depth: 0 })))
    const added = values.slice(skipSpace(values, 0), lastBefore(values, values.length) + 1)
    if (added === '') return text.slice(start, end)
    const last = lastBefore(text, end - 1)
    return `${text.slice(start, last + 1)}${last === start ? '' : ','}${added}${text.slice(last + 1, end)}`
  },
})

const unescapeToken = (token: string): string =>
  token.includes('~') ? token.replaceAll('~1', '/').replaceAll('~0', '~') : token

const placesOf = (operations: Operation[]): Place => {
  const root: Place = { level: 0, operation: undefined, first: operations[0]!, children: new Map() }
  for (const operation of operations) {
    let place = root
    for (const token of operation.pointer.slice(1).split('/')) {
      const name = unescapeToken(token)
      let child = place.children.get(name)
      if (child === undefined) {
        child = { level: place.level + 1, operation: undefined, first: operation, children: new Map() }
        place.children.set(name, child)
      }
      place = child
    }
    place.operation = operation
  }
  return root
}

/** A fault is reported when the walk is over: the first operation's, wherever its place is in the text. */
class PlacesEdit {
  readonly #text: string
  readonly #faults = new Map<Operation, CubbyError>()

  constructor(text: string) {
    this.#text = text
  }

  apply(operations: Operation[]): string {
    const root = placesOf(operations)
    const edit = this.#object(0, root)
    const result = edit.write(this.#missing(edit, root))
    for (const operation of operations) {
      const fault = this.#faults.get(operation)
      if (fault !== undefined) throw fault
    }
    return result
  }

  /** Keeps a fault and returns an empty text. */
  #attempt(operation: Operation, run: () => string): string {
    try {
      return run()
    } catch (error) {
      if (!(error instanceof CubbyError)) throw error
      this.#faults.set(operation, error)
      return ''
    }
  }

  #object(at: number, place: Place): ObjectEdit {
    place.names ??= new SoughtNames(place.children)
    const edit = new ObjectEdit(this.#text, at, place.names)
    while (edit.next()) {
      const child = place.children.get(edit.name)!
      const { end, write } = this.#value(edit.at, child)
      edit.replace(end, write)
    }
    return edit
  }

  #missing(edit: ObjectEdit, place: Place): string[] {
    const added: string[] = []
    for (const [name, child] of place.children) {
      if (!edit.has(name)) added.push(`${JSON.stringify(name)}:${this.#create(child)}`)
    }
    return added
  }

  #create({ operation, children }: Place): string {
    if (operation !== undefined) return this.#attempt(operation, () => operation.create())
    return `{${Array.from(children, ([name, child]) => `${JSON.stringify(name)}:${this.#create(child)}`).join(',')}}`
  }

  #value(at: number, place: Place): EditedValue {
    const text = this.#text
    const { operation } = place
    if (operation === undefined && text[at] === '{') {
      const edit = this.#object(at, place)
      return { end: edit.at, write: () => edit.write(this.#missing(edit, place)) }
    }
    if (operation === undefined && text[at] === '[') return this.#array(at, place)
    const span = valueSpan(text, at)
    const { start, end } = span
    if (operation !== undefined) {
      return { end, write: () => this.#attempt(operation, () => operation.change(text, start, end)) }
    }
    return {
      end,
      write: () => {
        const found = `a place in ${describeValue(shallowValue(text, span))}, at ${shownPlace(place)}`
        this.#faults.set(place.first, refuseType(place.first, found))
        return ''
      },
    }
  }

  #array(at: number, place: Place): EditedValue {
    const text = this.#text
    const byIndex = new Map<number, Place>()
    for (const [name, child] of place.children) {
      // Only an index as JavaScript writes it: no leading zeros, no sign.
      if (String(Number(name)) === name) byIndex.set(Number(name), child)
    }
    const edited: (EditedValue & { start: number })[] = []
    const found = new Set<Place>()
    const walk = new ArrayWalk(text, at)
    while (walk.next()) {
      const start = walk.at
      const child = byIndex.get(walk.position)
      if (child === undefined) {
        walk.at = valueEnd(text, start)
        continue
      }
      found.add(child)
      const { end, write } = this.#value(start, child)
      edited.push({ start, end, write })
      walk.at = end
    }
    const end = walk.at
    const write = (): string => {
      for (const child of place.children.values()) {
        if (found.has(child)) continue
        this.#faults.set(child.first, refuseType(child.first, `no element of the array at ${shownPlace(place)}`))
      }
      let written = ''
      let copied = at
      for (const element of edited) {
        written += text.slice(copied, element.start) + element.write()
        copied = element.end
      }
      return written + text.slice(copied, end)
    }
    return { end, write }
  }
}

/** Applies increments, then appends. Throws the error of the first that cannot be applied. */
export const applyPointers = (data: string, increments: Increment[], appends: Append[], fieldPrefix: string): string =>
  new PlacesEdit(data).apply([
    ...increments.map((increment) =>
      incrementAt(increment, pointerField(`${fieldPrefix}increment`, increment.pointer)),
    ),
    ...appends.map((append) => appendAt(append, pointerField(`${fieldPrefix}append`, append.pointer))),
  ])
