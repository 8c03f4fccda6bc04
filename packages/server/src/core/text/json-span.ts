import { CubbyError } from '../errors.ts'
import type { Members } from '../members.ts'
import { type Slices, sliceUnits } from '../slices.ts'
import { skipSpace, skipString } from './json-scan.ts'

// Finds values in text that is already checked to be JSON. The walkers check nothing, never go back, and build only what a
// request needs.

export interface Span {
  start: number
  end: number
  /** Levels of nesting: 1 for `{}`, 0 for a scalar. */
  depth: number
}

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** A span with an unknown end. */
interface OpenSpan extends Span {
  /** The number of objects and arrays that are open at `end`. */
  level: number
}

export const openSpan = (text: string, at: number): OpenSpan => {
  const start = skipSpace(text, at)
  return { start, end: start, depth: 0, level: 0 }
}

/** Advances the end by at least `units`; true when it has reached the end of the value. */
export const extendSpan = (text: string, span: OpenSpan, units = sliceUnits): boolean => {
  const pause = span.end + units
  let { end: index, level, depth } = span
  do {
    const code = text.charCodeAt(index)
    if (code === quote) {
      index = skipString(text, index)
    } else if (code === openBrace || code === openBracket) {
      level++
      if (level > depth) depth = level
      index++
    } else if (code === closeBrace || code === closeBracket) {
      level--
      index++
    } else if (level > 0) {
      index++
    } else {
      index = skipScalar(text, index)
    }
  } while (level > 0 && index < pause)
  span.end = index
  span.level = level
  span.depth = depth
  return level === 0
}

/** The span of the value that starts at `at`, without surrounding white space. */
export const valueSpan = (text: string, at: number): Span => {
  const span = openSpan(text, at)
  extendSpan(text, span, Number.POSITIVE_INFINITY)
  return { start: span.start, end: span.end, depth: span.depth }
}

/** The end of the value that starts at `at`, which is not white space. */
export const valueEnd = (text: string, at: number): number => {
  const code = text.charCodeAt(at)
  if (code === quote) return skipString(text, at)
  return code === openBrace || code === openBracket ? valueSpan(text, at).end : skipScalar(text, at)
}

/** The index after the number, true, false or null that starts at `at`. */
const skipScalar = (text: string, at: number): number => {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code <= 0x20 || code === comma || code === closeBrace || code === closeBracket || Number.isNaN(code)) return at
    at++
  }
}

/** Returns the path for errors, shortened, because a name may be as long as a body. */
export const memberPath = (path: string, name: string): string => {
  const shown = (name.length > 80 ? `${name.slice(0, 80)}…` : name).toWellFormed()
  return path === '' ? shown : `${path.slice(-200)}.${shown}`
}

/** The value of the string from `start` to `end`, which include its quotes. */
export const unquote = (text: string, start: number, end: number): string => {
  const raw = text.slice(start + 1, end - 1)
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw
}

/**
 * An envelope object with more members than this is rejected, because one of them is unknown. So later names are not
 * remembered: a body may have a million.
 */
const envelopeMembersMax = 1_000

/** A duplicate name is rejected, because it is unclear which value was meant. */
const refuseSecond = (names: Set<string>, name: string, path: string): void => {
  if (names.has(name)) {
    const field = memberPath(path, name)
    throw new CubbyError('invalid_request', `${field} appears twice in the body.`, {
      field,
      hint: 'Send each member once.',
    })
  }
  if (names.size < envelopeMembersMax) names.add(name)
}

/** Moves to the first member or element. */
const inside = (text: string, at: number): number => skipSpace(text, skipSpace(text, at) + 1)

/** Moves to the next member or element, or to the closing bracket. */
const behindValue = (text: string, end: number): number => {
  const index = skipSpace(text, end)
  return text.charCodeAt(index) === comma ? skipSpace(text, index + 1) : index
}

/**
 * Walks over the members of an object. When `next` returns true, `at` is the start of the value, and the caller moves it
 * to the end of the value; when it returns false, `at` is the end of the object. With a path, duplicate names are rejected.
 */
export class ObjectWalk {
  /** The name of the current member, unescaped. */
  name = ''
  /** The index of the quote that opens the name. */
  nameStart = 0
  position = -1
  at: number
  readonly #text: string
  readonly #path: string | undefined
  #names: Set<string> | undefined

  constructor(text: string, at: number, path: string | undefined) {
    this.#text = text
    this.at = at
    this.#path = path
  }

  next(): boolean {
    const text = this.#text
    const at = this.position < 0 ? inside(text, this.at) : behindValue(text, this.at)
    this.position++
    if (text.charCodeAt(at) !== quote) {
      this.at = at + 1
      return false
    }
    const nameEnd = skipString(text, at)
    this.nameStart = at
    this.name = unquote(text, at, nameEnd)
    if (this.#path !== undefined) {
      this.#names ??= new Set()
      refuseSecond(this.#names, this.name, this.#path)
    }
    this.at = skipSpace(text, skipSpace(text, nameEnd) + 1)
    return true
  }
}

/** Walks over the elements of an array, like `ObjectWalk` over members. */
export class ArrayWalk {
  position = -1
  at: number
  readonly #text: string

  constructor(text: string, at: number) {
    this.#text = text
    this.at = at
  }

  next(): boolean {
    const text = this.#text
    this.at = this.position < 0 ? inside(text, this.at) : behindValue(text, this.at)
    this.position++
    if (text.charCodeAt(this.at) !== closeBracket) return true
    this.at++
    return false
  }
}

/**
 * Visits the members of the object that starts at `at`. `visit` gets each name, unescaped, with the start of its value, and
 * returns the end of that value. With a path, duplicate names are rejected.
 */
export const walkObject = (
  text: string,
  at: number,
  path: string | undefined,
  visit: (name: string, valueStart: number) => number,
): number => {
  const walk = new ObjectWalk(text, at, path)
  while (walk.next()) walk.at = visit(walk.name, walk.at)
  return walk.at
}

/** Visits the elements of the array that starts at `at`, like `walkObject`. */
export const walkArray = (
  text: string,
  at: number,
  visit: (position: number, valueStart: number) => number,
): number => {
  const walk = new ArrayWalk(text, at)
  while (walk.next()) walk.at = visit(walk.position, walk.at)
  return walk.at
}

/** The value at this place; an object or array is returned empty. */
export const shallowValue = (text: string, { start, end }: Span): unknown => {
  switch (text.charCodeAt(start)) {
    case openBrace:
      return {}
    case openBracket:
      return []
    case quote:
      return unquote(text, start, end)
    default:
      return JSON.parse(text.slice(start, end))
  }
}

/** The object has no prototype: `__proto__` is a name like any other. */
const noMembers = (): Members => Object.create(null) as Members

/** One value of the envelope: an object's members with shallow values, or another value. */
export interface Envelope {
  value: unknown
  /** The span of the object's member `data`. */
  data: Span | undefined
  /** The spans of other members that are objects or arrays; undefined if there are none, as in requests about records. */
  parts?: Map<string, Span>
  end: number
}

interface EnvelopeOptions {
  /** False for an object that is skipped: no members are kept. */
  keeps?: boolean
  /** Steps through the value of a member to its end; undefined for a member whose value is skipped. */
  into?(name: string, at: number): Slices<number> | undefined
}

/** `path` is for the error about a duplicate member. */
export function* readEnvelope(
  text: string,
  at: number,
  path: string,
  { keeps = true, into }: EnvelopeOptions = {},
): Slices<Envelope> {
  const start = skipSpace(text, at)
  if (text.charCodeAt(start) !== openBrace) {
    const span = openSpan(text, start)
    while (!extendSpan(text, span)) yield
    return { value: shallowValue(text, span), data: undefined, end: span.end }
  }
  const value = noMembers()
  let data: Span | undefined
  let parts: Map<string, Span> | undefined
  let pausedAt = start
  const walk = new ObjectWalk(text, start, path)
  while (walk.next()) {
    const span = openSpan(text, walk.at)
    const slices = into?.(walk.name, walk.at)
    if (slices !== undefined) span.end = yield* slices
    else while (!extendSpan(text, span)) yield
    const isKept = keeps && walk.position < envelopeMembersMax
    if (isKept) value[walk.name] = shallowValue(text, span)
    if (walk.name === 'data') data = span
    else if (isKept && span.depth > 0) {
      parts ??= new Map()
      parts.set(walk.name, span)
    }
    walk.at = span.end
    if (walk.at - pausedAt >= sliceUnits) {
      yield
      pausedAt = walk.at
    }
  }
  return { value, data, parts, end: walk.at }
}

/** The members of an object with one of these names, with shallow values. The last of several with the same name counts. */
export const pickMembers = (text: string, names: readonly string[]): Members => {
  const picked = noMembers()
  let at = inside(text, 0)
  while (text.charCodeAt(at) === quote) {
    const nameEnd = skipString(text, at)
    const name = oneOf(names, text, at, nameEnd)
    const span = valueSpan(text, skipSpace(text, nameEnd) + 1)
    if (name !== undefined) picked[name] = shallowValue(text, span)
    at = behindValue(text, span.end)
  }
  return picked
}

/** The name at this place, if it is one of `names`. A name without escapes is compared without making a string. */
export const oneOf = (names: readonly string[], text: string, start: number, end: number): string | undefined => {
  for (let i = start + 1; i < end; i++) {
    if (text.charCodeAt(i) !== backslash) continue
    const name = unquote(text, start, end)
    return names.includes(name) ? name : undefined
  }
  return names.find((name) => name.length === end - start - 2 && text.startsWith(name, start + 1))
}

/** Bodies without `data` have no objects deeper than this: a table's declaration, its indices, each slot. */
const outlineLevels = 3
/** The most objects or arrays as members: five slots need no more. One that has more is rejected for its members' names. */
const outlineContainers = 8

/**
 * The value of a body without `data`, as deep as any request looks: objects in objects, and arrays with shallow elements.
 * Deeper values become an empty object or array, which is rejected at its place anyway.
 */
export const outline = (text: string, at = 0, level = 1): unknown => {
  const start = skipSpace(text, at)
  const code = text.charCodeAt(start)
  if (code === openBracket) {
    const elements: unknown[] = []
    walkArray(text, start, (_, elementStart) => {
      const span = valueSpan(text, elementStart)
      elements.push(shallowValue(text, span))
      return span.end
    })
    return elements
  }
  if (code !== openBrace) return shallowValue(text, valueSpan(text, start))
  const members = noMembers()
  let containers = 0
  const walk = new ObjectWalk(text, start, undefined)
  while (walk.next()) {
    const span = valueSpan(text, walk.at)
    const looksInside = span.depth > 0 && level < outlineLevels && containers++ < outlineContainers
    members[walk.name] = looksInside ? outline(text, walk.at, level + 1) : shallowValue(text, span)
    walk.at = span.end
  }
  return members
}

/** No request has envelope objects deeper than this; anything deeper is rejected by its type. */
const envelopeDepthMax = 8

/** Rejects duplicate members anywhere in a body without `data`. The metadata of a file are kept as they were sent. */
export const refuseDuplicateMembers = (text: string): void => {
  const walk = (at: number, path: string, level: number): number => {
    const code = text.charCodeAt(at)
    if (level < envelopeDepthMax && code === 0x7b) {
      return walkObject(text, at, path, (name, start) =>
        level === 0 && name === 'metadata'
          ? valueSpan(text, start).end
          : walk(start, memberPath(path, name), level + 1),
      )
    }
    if (level < envelopeDepthMax && code === 0x5b) {
      return walkArray(text, at, (position, start) => walk(start, `${path}[${position}]`, level + 1))
    }
    return valueSpan(text, at).end
  }
  walk(skipSpace(text, 0), '', 0)
}
