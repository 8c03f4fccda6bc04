// A request as text with placeholders, which the load tool fills for every request. Every placeholder has a fixed width.
// So the length of a body never changes, and the tool only writes a few digits per request.

export type Hole =
  /** A record's number. Each request has one random number; `plus` is added to it, modulo the number of records. */
  | { hole: 'record'; plus: number }
  /** A random group: the hash of an index. */
  | { hole: 'group' }
  /** A random number: the range of an index. */
  | { hole: 'score' }
  /** A number that increases with every request, like a clock. */
  | { hole: 'rising' }

export type Part = string | Hole

/** One kind of request; `times` is its share in a round of all kinds. */
export interface RequestTemplate {
  times: number
  parts: Part[]
}

export const holeWidth = { record: 8, group: 5, score: 10, rising: 13 } as const

export const record = (plus = 0): Hole => ({ hole: 'record', plus })
export const group: Hole = { hole: 'group' }
export const score: Hole = { hole: 'score' }
export const rising: Hole = { hole: 'rising' }

export const partLength = (part: Part): number => (typeof part === 'string' ? part.length : holeWidth[part.hole])

const lengthOf = (parts: Part[]): number => parts.reduce((sum, part) => sum + partLength(part), 0)

export interface RequestText {
  method: string
  path: Part[]
  headers: Record<string, string | Part[]>
  body?: Part[]
}

/** The bytes of an HTTP/1.1 request. All text is ASCII. */
export const httpRequest = ({ method, path, headers, body }: RequestText): Part[] => {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).flatMap(([name, value]) =>
    [`${name}: `, value, '\r\n'].flat(),
  )
  if (body !== undefined) lines.push(`Content-Type: application/json\r\nContent-Length: ${lengthOf(body)}\r\n`)
  return joinText([`${method} `, ...path, ' HTTP/1.1\r\n', ...lines, '\r\n', ...(body ?? [])])
}

/** Joins adjacent texts. */
const joinText = (parts: Part[]): Part[] => {
  const joined: Part[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (typeof part === 'string' && typeof last === 'string') joined[joined.length - 1] = last + part
    else joined.push(part)
  }
  return joined
}

/** The ranges of the placeholders' values. */
export interface Shape {
  records: number
  groups: number
}

const digits = (value: number, width: number): string => String(value).padStart(width, '0')

const sample = (hole: Hole, shape: Shape): string => {
  switch (hole.hole) {
    case 'record':
      return digits(hole.plus % shape.records, holeWidth.record)
    case 'group':
      return digits(0, holeWidth.group)
    case 'score':
      return '1000000000'
    case 'rising':
      return String(Date.now())
  }
}

/** One request with its placeholders filled, to check the response before the load starts. */
export const renderRequest = (parts: Part[], shape: Shape): string =>
  parts.map((part) => (typeof part === 'string' ? part : sample(part, shape))).join('')
