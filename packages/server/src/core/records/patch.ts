import { describeValue } from '../describe-value.ts'
import { CubbyError } from '../errors.ts'
import { dataDepthMax, patchDigitsMax, patchPointersMax } from '../limits.ts'
import { asJson } from '../members.ts'
import { parseDecimal } from '../text/decimal.ts'
import {
  ArrayWalk,
  memberPath,
  ObjectWalk,
  type Span,
  shallowValue,
  valueEnd,
  valueSpan,
  walkObject,
} from '../text/json-span.ts'
import { mergePatch } from '../text/merge-patch.ts'
import { type Append, applyPointers, type Increment, pointerField } from './patch-places.ts'

/** A checked patch: what it does to `data`, and to the ttl. It crosses threads and processes as JSON. */
export interface Patch {
  /** The text of an object: a JSON Merge Patch. */
  merge?: string
  increments?: Increment[]
  appends?: Append[]
  /** null removes the ttl; undefined leaves it as it is. */
  ttl?: number | null
}

/** The texts of the members of a request, already checked to be JSON. */
interface PatchTexts {
  merge?: string
  increment?: string
  append?: string
}

const refuse = (field: string, message: string, hint?: string): never => {
  throw new CubbyError('invalid_request', message, { field, hint })
}

const textOf = (text: string, { start, end }: Span): string => text.slice(start, end)

const describeSpan = (text: string, span: Span): string => describeValue(shallowValue(text, span))

/** `field` is the name of the member, with the prefix of a batch. */
const refuseOtherThanObject = (text: string, field: string, hint: string): Span => {
  const span = valueSpan(text, 0)
  if (text[span.start] === '{') return span
  return refuse(field, `${field} is ${describeSpan(text, span)}; it takes a JSON object.`, hint)
}

/** Where a value of `merge` is. A path is made only for an error: there may be 100,000 values. */
interface ValuePlace {
  outer: ValuePlace | undefined
  /** A number is the index of an element. */
  name: string | number
}

const pathOf = ({ outer, name }: ValuePlace): string => {
  const path = outer === undefined ? '' : pathOf(outer)
  return typeof name === 'number' ? `${path}[${name}]` : memberPath(path, name)
}

/** Returns the end of the object or array. It looks into all of it. */
const refuseDuplicates = (text: string, at: number, place: ValuePlace): number => {
  const walk = text[at] === '[' ? new ArrayWalk(text, at) : new ObjectWalk(text, at, undefined)
  let first: string | undefined
  let names: Set<string> | undefined
  while (walk.next()) {
    const name = walk instanceof ArrayWalk ? walk.position : walk.name
    const start = walk.at
    const opens = text[start] === '{' || text[start] === '['
    if (typeof name === 'string') {
      // Most objects of a long list are small: a set for each would take ten times as long.
      if (first !== undefined) names ??= new Set([first])
      first ??= name
      if (names?.has(name)) {
        const path = pathOf({ outer: place, name })
        refuse(path, `${path} appears twice in the body.`, 'Send each member once.')
      }
      names?.add(name)
    }
    walk.at = opens ? refuseDuplicates(text, start, { outer: place, name }) : valueEnd(text, start)
  }
  return walk.at
}

const parseMerge = (text: string, field: string, dataField: string): string => {
  const span = refuseOtherThanObject(text, field, 'Give the members to change: { "status": "paid" }.')
  // All its levels would be in the result.
  if (span.depth > dataDepthMax) {
    refuse(
      dataField,
      `${dataField} would be at least ${span.depth} levels deep; it takes at most ${dataDepthMax}.`,
      'Flatten it, or store the inner part as a string.',
    )
  }
  refuseDuplicates(text, span.start, { outer: undefined, name: field })
  return textOf(text, span)
}

const checkPointer = (pointer: string, field: string): void => {
  if (!pointer.startsWith('/')) {
    const hint = `Write a member of data as ${JSON.stringify(`/${pointer.slice(0, 80)}`.toWellFormed())}.`
    refuse(field, `${field} has a pointer that does not begin with "/".`, hint)
  }
  if (/~(?![01])/.test(pointer)) {
    refuse(field, `${field} has a "~" that is not part of "~0" or "~1".`, 'Write "~" as "~0", and "/" as "~1".')
  }
  if (pointer.split('/', dataDepthMax + 2).length > dataDepthMax + 1) {
    refuse(field, `${field} leads more than ${dataDepthMax} levels deep; data takes at most ${dataDepthMax}.`)
  }
}

/** Visits the pointers of `increment` or `append`. `parse` gets the value of each. */
const parsePointers = <T>(
  text: string,
  list: string,
  example: string,
  parse: (pointer: string, field: string, value: Span) => T,
): T[] => {
  refuseOtherThanObject(text, list, `Give pointers into data: ${example}.`)
  const parsed: T[] = []
  walkObject(text, 0, undefined, (pointer, start) => {
    if (parsed.length === patchPointersMax) refuseTooMany(list, list)
    const field = pointerField(list, pointer)
    checkPointer(pointer, field)
    const value = valueSpan(text, start)
    parsed.push(parse(pointer, field, value))
    return value.end
  })
  if (parsed.length === 0)
    refuse(list, `${list} is empty; it takes at least one pointer.`, `Write it as ${example}, or leave it out.`)
  return parsed
}

const refuseTooMany = (field: string, who: string): never =>
  refuse(field, `${who} has more than ${patchPointersMax} pointers.`, 'Send several patches.')

const startsNumber = (text: string, at: number): boolean => /[-0-9]/.test(text[at]!)

/** `name` is `by`, `min` or `max`, or undefined if the operand is the number itself. */
const parseOperand = (text: string, span: Span, field: string, name?: string): string => {
  const shown = name === undefined ? field : `${field}.${name}`
  if (!startsNumber(text, span.start)) {
    const value = shallowValue(text, span)
    const takes = name === undefined ? 'a number, or { "by": <number>, "min"?, "max"? }' : 'a number'
    refuse(field, `${shown} is ${describeValue(value)}; it takes ${takes}.`, asJson(value, 'number'))
  }
  const operand = textOf(text, span)
  if (parseDecimal(operand) === undefined) {
    const limits = `at most ${patchDigitsMax} significant digits, and 0 or a size from 1e-308 to below 1e309`
    refuse(field, `${shown} is not a number that can be added exactly; it takes ${limits}.`)
  }
  return operand
}

const operandNames = ['by', 'min', 'max'] as const

const parseIncrement = (text: string, pointer: string, field: string, value: Span): Increment => {
  if (text[value.start] !== '{') return { pointer, by: parseOperand(text, value, field) }
  const operands: Partial<Increment> = {}
  walkObject(text, value.start, undefined, (member, start) => {
    const name = operandNames.find((known) => known === member)
    const shown = memberPath(field, member)
    if (name === undefined)
      return refuse(field, `${shown} is not a field of this request.`, 'Known fields: by, min, max.')
    if (operands[name] !== undefined) refuse(field, `${shown} appears twice in the body.`, 'Send each member once.')
    const span = valueSpan(text, start)
    operands[name] = parseOperand(text, span, field, name)
    return span.end
  })
  const { by } = operands
  if (by === undefined) return refuse(field, `${field}.by is missing; it takes a number.`, 'Write it as { "by": 1 }.')
  return { pointer, ...operands, by }
}

const parseAppend = (text: string, pointer: string, field: string, value: Span): Append => {
  if (text[value.start] === '[') return { pointer, values: text.slice(value.start + 1, value.end - 1) }
  return refuse(
    field,
    `${field} is ${describeSpan(text, value)}; it takes an array.`,
    'Put the values in brackets: [ … ].',
  )
}

/** Each pointer leads to a place of its own, and none to a place within another. */
const refuseConflicts = (places: { pointer: string; field: string }[]): void => {
  places.forEach((place, i) => {
    for (const earlier of places.slice(0, i)) {
      const same = earlier.pointer === place.pointer
      const [outer, inner] = earlier.pointer.length <= place.pointer.length ? [earlier, place] : [place, earlier]
      if (!same && !inner.pointer.startsWith(`${outer.pointer}/`)) continue
      refuse(
        inner.field,
        same
          ? `${earlier.field} and ${place.field} name the same place.`
          : `${inner.field} leads below ${outer.field}.`,
        'Send the two in separate patches, or as one value of merge.',
      )
    }
  })
}

/** Parses the members of a request that change `data`. `fieldPrefix` is `operations[2].` inside a batch. */
export const parsePatchMembers = (texts: PatchTexts, fieldPrefix: string): Omit<Patch, 'ttl'> => {
  const { merge, increment, append } = texts
  const patch: Omit<Patch, 'ttl'> = {}
  const [increments, appends] = [`${fieldPrefix}increment`, `${fieldPrefix}append`]
  if (merge !== undefined) patch.merge = parseMerge(merge, `${fieldPrefix}merge`, `${fieldPrefix}data`)
  if (increment !== undefined) {
    patch.increments = parsePointers(increment, increments, '{ "/count": 1 }', (...at) =>
      parseIncrement(increment, ...at),
    )
  }
  if (append !== undefined) {
    patch.appends = parsePointers(append, appends, '{ "/tags": ["new"] }', (...at) => parseAppend(append, ...at))
  }
  const places = [
    ...(patch.increments ?? []).map(({ pointer }) => ({ pointer, field: pointerField(increments, pointer) })),
    ...(patch.appends ?? []).map(({ pointer }) => ({ pointer, field: pointerField(appends, pointer) })),
  ]
  if (places.length > patchPointersMax) refuseTooMany(appends, `${increments} and append together`)
  refuseConflicts(places)
  return patch
}

/**
 * The text of `data` with the patch applied. Throws `not_a_number` or `not_an_array` for a place that holds something else, and
 * `precondition_failed` for a sum beyond its bounds. Limits of the result are left to the caller.
 */
export const applyPatch = (
  data: string,
  { merge, increments = [], appends = [] }: Patch,
  fieldPrefix: string,
): string => {
  const merged = merge === undefined ? data : mergePatch(data, merge)
  return increments.length + appends.length === 0 ? merged : applyPointers(merged, increments, appends, fieldPrefix)
}
