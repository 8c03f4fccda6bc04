import type { Json } from '../harness.ts'

// Repairs a request or a call from its error alone, as an agent does that has never read a page. It knows how our hints are
// written, and nothing of tables, fields or codes: "Write it as …", "leave … out", a request or a call to send, a value.

/** A request over HTTP, or the call of a tool. */
export interface Attempt {
  /** `PUT`, or the name of a tool. */
  verb: string
  /** The verb of a request. */
  path?: string
  headers?: Record<string, string>
  body?: Json
}

export interface Fault {
  message: string
  field?: string
  hint?: string
}

/** The values that an agent works with: it knows them beside the error. */
export interface Known {
  key: string
  values: Record<string, Json>
}

export type Repaired =
  | { again: Attempt[] }
  /** Send this first. What it answers may hold the value of `field`, under the name `wanted`. */
  | { first: Attempt; wanted?: string }

type Path = (string | number)[]

const pathOf = (field: string): Path =>
  [...field.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) => (index === undefined ? name! : Number(index)))

const at = (body: Json, path: Path): Json => path.reduce((value, step) => value?.[step], body)

/** A copy in which the member has another value or, without one, is left out. */
export const withValue = (body: Json, path: Path, value?: Json): Json => {
  const copy = structuredClone(body ?? {})
  const owner = at(copy, path.slice(0, -1)) ?? copy
  const last = path.at(-1)!
  if (value === undefined) delete owner[last]
  else owner[last] = value
  return copy
}

/** The first JSON value in a text, from `from` on. `…` stands for `instead`. */
const jsonIn = (text: string, instead: Json): Json | undefined => {
  const start = text.search(/[[{"]|-?\d|true\b|false\b/)
  if (start < 0) return undefined
  const whole = text.slice(start).replaceAll('…', JSON.stringify(instead) ?? 'null')
  for (let end = whole.length; end > 0; end--) {
    try {
      return JSON.parse(whole.slice(0, end))
    } catch {}
  }
  return undefined
}

const isObject = (value: Json): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Places in a path that the hint leaves open, from what the agent knows. */
const filled = (path: string, { values }: Known): string =>
  path.replaceAll(/:(\w+)/g, (whole, name) => (name in values ? encodeURIComponent(values[name]) : whole))

/** The first request (`PUT /v1/app/orders`) or call (`create_table {…}`) in a hint. */
export const callIn = (hint: string, known: Known): (Attempt & { at: number }) | undefined => {
  const request = /\b(GET|PUT|PATCH|POST|DELETE) (\/[^\s,;]*[^\s,;.])/.exec(hint)
  if (request !== null) return { verb: request[1]!, path: filled(request[2]!, known), at: request.index }
  const call = /\b([a-z]+_[a-z]+) (?=\{)/.exec(hint)
  if (call === null) return undefined
  return { verb: call[1]!, body: jsonIn(hint.slice(call.index + call[0].length), null), at: call.index }
}

const isReading = ({ verb }: Attempt): boolean => /^(?:GET|get_|list_|describe_)/.test(verb)

/** Moves a member of the body to another place. */
const moved = (body: Json, from: Path, to: Path, inList: boolean): Json => {
  const value = at(body, from)
  const rest = withValue(body, from)
  const owner = at(rest, to) ?? (inList ? [{}] : {})
  const name = from.at(-1)!
  if (inList) owner[0] = { ...owner[0], [name]: value }
  else owner[name] = value
  return withValue(rest, to, owner)
}

type Rule = (attempt: Attempt, fault: Required<Fault>, known: Known) => Repaired | undefined

const again = (attempt: Attempt, body: Json): Repaired => ({ again: [{ ...attempt, body }] })

/** The order matters: the first rule that finds its words in the hint repairs. */
const rules: Rule[] = [
  // Headers.
  (attempt, { hint }, { key }) => {
    const [, name, value] = /"(Authorization|Content-Type): ([^"]+)"/.exec(hint) ?? []
    if (name === undefined) return undefined
    const header = value!.replace(/<API key>|svc_live_…/, key)
    return { again: [{ ...attempt, headers: { [name.toLowerCase()]: header } }] }
  },
  (attempt, { hint, field }) => {
    const value = new RegExp(`with quotes: ${field}: (".*")`).exec(hint)?.[1]
    if (field === '' || value === undefined) return undefined
    return { again: [{ ...attempt, headers: { ...attempt.headers, [field.toLowerCase()]: value } }] }
  },
  // The path alone.
  (attempt, { hint }) => {
    const path = /(?:below \/v1|slash at its end): (\/\S*[^\s.])/.exec(hint)?.[1]
    return path === undefined ? undefined : { again: [{ ...attempt, path }] }
  },
  (attempt, { hint }, { values }) => {
    if (!hint.includes('add it to the path')) return undefined
    return { again: [{ ...attempt, path: `${attempt.path}/${encodeURIComponent(values.rangeKey)}` }] }
  },
  // Another name: of a table in the path or in the arguments, of a field, of an operator.
  (attempt, { hint, message }) => {
    const exists = /^A similar name exists: (\S+)\. /.exec(hint)?.[1]
    const wrong = /table (\S+) in/.exec(message)?.[1]
    if (exists === undefined || wrong === undefined) return undefined
    if (attempt.path === undefined) return again(attempt, { ...attempt.body, table: exists })
    return { again: [{ ...attempt, path: attempt.path.replace(`/${wrong}`, `/${exists}`) }] }
  },
  (attempt, { hint, field }) => {
    const name = /, for example "([^"]+)"\.$/.exec(hint)?.[1]
    if (name === undefined) return undefined
    if (attempt.path === undefined) return again(attempt, withValue(attempt.body, pathOf(field), name))
    const wrong = /\/v1\/[^/]*\/([^/]+)/.exec(attempt.path)![1]!
    return { again: [{ ...attempt, path: attempt.path.replace(`/${wrong}`, `/${name}`) }] }
  },
  (attempt, { hint, field }) => {
    const [, wrong, right] = /^Write "([^"]+)" as "([^"]+)"/.exec(hint) ?? []
    if (wrong === undefined) return undefined
    const { [wrong]: value, ...rest } = at(attempt.body, pathOf(field))
    return again(attempt, withValue(attempt.body, pathOf(field), { ...rest, [right!]: value }))
  },
  (attempt, { hint, field, message }) => {
    const name = /(?:[Ww]rite it as|In a query it is) "([^"]+)"/.exec(hint)?.[1]
    if (name === undefined || !/ is not a (?:field|slot)/.test(message)) return undefined
    const path = pathOf(field)
    return again(
      attempt,
      withValue(withValue(attempt.body, path), [...path.slice(0, -1), name], at(attempt.body, path)),
    )
  },
  // Another place.
  (attempt, { hint, field }) => {
    const [, list, data] = /It belongs into (\w+): \[|^Put the contents of the record into (\w+)\./.exec(hint) ?? []
    if (list !== undefined) return again(attempt, moved(attempt.body, pathOf(field), [list], true))
    if (data === undefined) return undefined
    const path = pathOf(field)
    return again(attempt, moved(attempt.body, path, [...path.slice(0, -1), data], false))
  },
  // Another value.
  (attempt, { hint, field, message }) => {
    const value = at(attempt.body, field === '' ? [] : pathOf(field))
    const set = (to: Json) => again(attempt, field === '' ? to : withValue(attempt.body, pathOf(field), to))
    if (hint.startsWith('Send the object itself')) return set(JSON.parse(value))
    if (hint.startsWith('Wrap it') || hint.startsWith('Put it into a list')) return set(jsonIn(hint, value))
    const given =
      /^(?:Write it as|To delete this table.*, send "confirm":) (.*)/.exec(hint)?.[1] ??
      /(?:give seconds:|from now give|bound first:|as a string of .* bytes:|It declares) (.*)/.exec(hint)?.[1]
    if (given !== undefined) return set(jsonIn(given, value))
    const version = /(?:new version, |send "ifUpdatedAt": )(\d+)/.exec(hint)?.[1]
    if (version === undefined) return undefined
    if (field !== '') return set(Number(version))
    expectVersion(message, version)
    return { again: [{ ...attempt, headers: { ...attempt.headers, 'if-match': `"${version}"` } }] }
  },
  (attempt, { hint, field }) => {
    const size = /(?:batches of|Send) (\d+)(?: at a time|;)/.exec(hint)?.[1]
    if (size === undefined) return undefined
    const list: Json[] = at(attempt.body, pathOf(field))
    const parts = Array.from({ length: Math.ceil(list.length / Number(size)) }, (_, i) =>
      list.slice(i * Number(size), (i + 1) * Number(size)),
    )
    return { again: parts.map((part) => ({ ...attempt, body: withValue(attempt.body, pathOf(field), part) })) }
  },
  (attempt, { hint, field }) => {
    const slot = /^Declared: (i\d)/.exec(hint)?.[1]
    return slot === undefined ? undefined : again(attempt, withValue(attempt.body, pathOf(field), slot))
  },
  // Members to send instead of the wrong one.
  (attempt, { hint, field }) => {
    const bare = /\bindex: "t"/.test(hint) ? { index: 't' } : undefined
    const members = bare ?? jsonIn(/\{ ".*/.exec(hint)?.[0] ?? '', null)
    if (!isObject(members)) return undefined
    if (hint.startsWith('For example'))
      return again(attempt, withValue(attempt.body, pathOf(field).slice(0, 1), members))
    return again(attempt, { ...withValue(attempt.body, pathOf(field)), ...members })
  },
  (attempt, { hint, field }) => {
    const name = /[Ll]eave (\S+) out/.exec(hint)?.[1]
    if (name === undefined) return undefined
    return again(attempt, withValue(attempt.body, pathOf(field === '' ? name : field)))
  },
  // The agent knows these values itself.
  (attempt, { message, field }, { values }) => {
    const name = pathOf(field).at(-1) ?? ''
    if (!message.includes(' is missing') || !(name in values)) return undefined
    return again(attempt, withValue(attempt.body, pathOf(field), values[name]))
  },
  // Another request or call: in the place of this one, or before it.
  (attempt, { hint, field }, known) => {
    const call = callIn(hint, known)
    if (call === undefined) return undefined
    const { at: _, ...other } = call
    const wanted = /[Ss]end its (\w+) as (\w+)/.exec(hint)?.[1]
    if (/^(?:Create it|Restore it|Declare it)/.test(hint) || wanted !== undefined) return { first: other, wanted }
    if (isReading(other) && other.path === undefined) return { first: other }
    const inBody = /with (\w+) in the body/.exec(hint)?.[1]
    const isOpen = other.verb === 'GET' || other.verb === 'DELETE'
    const body = isOpen ? undefined : inBody === undefined ? {} : { [inBody]: known.values[inBody], ...attempt.body }
    return { again: [{ verb: other.verb, path: other.path, body: field === '' ? body : body && { ...body } }] }
  },
]

const expectVersion = (message: string, version: string): void => {
  if (!message.includes(version)) throw new Error(`the hint names another version than the message: ${message}`)
}

/** Undefined: the hint says nothing that helps. */
export const repair = (
  attempt: Attempt,
  { message, field = '', hint = '' }: Fault,
  known: Known,
): Repaired | undefined => {
  for (const rule of rules) {
    const repaired = rule(attempt, { message, field, hint }, known)
    if (repaired !== undefined) return repaired
  }
  return undefined
}
