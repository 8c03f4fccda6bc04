import { CubbyError } from '../errors.ts'
import { type Members, parseObject } from '../members.ts'
import { type Slices, sliceUnits } from '../slices.ts'
import { isCheapToBuild, JsonScan, parseJson } from './json-scan.ts'
import { ArrayWalk, type Envelope, extendSpan, openSpan, readEnvelope } from './json-span.ts'

/** An array of a body: its elements up to a limit, and the count of all. */
export interface ElementList {
  first: Envelope[]
  count: number
}

/**
 * Returns the end of the array that starts at `at`. It reads the whole array, even elements beyond the limit: a duplicate
 * member is rejected anywhere.
 */
function* readElements(text: string, at: number, name: string, elementsMax: number, list: ElementList): Slices<number> {
  let pausedAt = at
  const walk = new ArrayWalk(text, at)
  while (walk.next()) {
    const keeps = walk.position < elementsMax
    if (keeps || text[walk.at] === '{') {
      const element = yield* readEnvelope(text, walk.at, `${name}[${walk.position}]`, { keeps })
      if (keeps) list.first.push(element)
      walk.at = element.end
    } else {
      const span = openSpan(text, walk.at)
      while (!extendSpan(text, span)) yield
      walk.at = span.end
    }
    if (walk.at - pausedAt >= sliceUnits) {
      yield
      pausedAt = walk.at
    }
  }
  list.count = walk.position
  return walk.at
}

/** A body with one array of objects as its member `name`. The text is checked to be JSON; nothing else is checked. */
export function* readListBody(
  text: string,
  name: string,
  elementsMax: number,
): Slices<{ members: Members; list: ElementList }> {
  if (isCheapToBuild(text)) parseJson(text)
  else {
    const scan = new JsonScan(text)
    while (!scan.run(sliceUnits)) yield
  }
  const list: ElementList = { first: [], count: 0 }
  const { value } = yield* readEnvelope(text, 0, '', {
    into: (member, at) =>
      member === name && text[at] === '[' ? readElements(text, at, name, elementsMax, list) : undefined,
  })
  if (Array.isArray(value)) {
    throw new CubbyError('invalid_request', 'The body is an array; it takes a JSON object.', {
      hint: `Wrap it: { "${name}": … }.`,
    })
  }
  return { members: parseObject(value), list }
}
