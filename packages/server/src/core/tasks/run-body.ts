import { CubbyError } from '../errors.ts'
import { type Members, parseObject } from '../members.ts'
import { parseData } from '../records/record-data.ts'
import { runThrough } from '../slices.ts'
import { checkJson } from '../text/json-scan.ts'
import { type Envelope, readEnvelope, type Span, shallowValue, valueSpan, walkObject } from '../text/json-span.ts'

/** The members of a request about a run, with shallow values, and where objects among them are in the text. */
export interface RunBody {
  members: Members
  text: string
  parts: Map<string, Span> | undefined
}

/** The body of a request. If `optional`, an empty one counts as `{}`. */
export const readRunBody = (text: string, optional = false): RunBody => {
  if (text === '' && optional) return { members: {}, text, parts: undefined }
  checkJson(text)
  const { value, parts } = runThrough(readEnvelope(text, 0, ''))
  return { members: parseObject(value), text, parts }
}

/** An operation of a batch. */
export const bodyOfOperation = ({ value, parts }: Envelope, text: string, name: string): RunBody => ({
  members: parseObject(value, name),
  text,
  parts,
})

const hints = {
  missing: 'Leave it out for {}.',
  tooLarge: 'Put the large part into a record or a file, and its key here.',
}

/** The text of the member `name`, which follows the rules of `data`; undefined if it is absent. */
export const parseObjectText = ({ members, text, parts }: RunBody, name: string, prefix: string): string | undefined =>
  members[name] === undefined
    ? undefined
    : parseData(members[name], text, parts?.get(name), `${prefix}${name}`, undefined, hints)

/** The members of the object `name`, which is a part of the envelope: a member twice is rejected. */
export const membersOf = ({ members, text, parts }: RunBody, name: string, prefix: string): Members => {
  const inner = parseObject(members[name], `${prefix}${name}`)
  const span = parts?.get(name)
  if (span === undefined) return inner
  walkObject(text, span.start, `${prefix}${name}`, (member, start) => {
    const value = valueSpan(text, start)
    inner[member] = shallowValue(text, value)
    return value.end
  })
  return inner
}

/** Two members of which a request may have only one. */
export const refuseTogether = (members: Members, name: string, other: string, prefix: string, hint: string): void => {
  if (members[name] === undefined || members[other] === undefined) return
  throw new CubbyError('invalid_request', `${prefix}${other} cannot be combined with ${name}.`, {
    field: `${prefix}${other}`,
    hint,
  })
}
