import { skipSpace } from '../../../server/src/core/text/json-scan.ts'
import { skipString, skipValue } from './scan.ts'

export interface Span {
  start: number
  end: number
}

/** A member with its name decoded. The span is that of its value. */
export interface Member extends Span {
  name: string
}

/** The string whose source stands at this place, quotes included. */
export const decodeString = (text: string, start: number, end: number): string => {
  const raw = text.slice(start + 1, end - 1)
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw
}

/** The members of the object that starts at `at`, in their order, duplicates included. Of another value: none. */
export const membersOf = (text: string, at = 0): Member[] => {
  const members: Member[] = []
  const open = skipSpace(text, at)
  if (text[open] !== '{') return members
  let next = skipSpace(text, open + 1)
  while (text[next] === '"') {
    const nameEnd = skipString(text, next)
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = skipValue(text, start)
    members.push({ name: decodeString(text, next, nameEnd), start, end })
    next = skipSpace(text, end)
    if (text[next] === ',') next = skipSpace(text, next + 1)
  }
  return members
}

/** The value of the member with this name. Of several the last counts, as it does for the server's indices. */
export const memberNamed = (text: string, name: string, at = 0): Span | undefined => {
  const found = membersOf(text, at).findLast((member) => member.name === name)
  return found && { start: found.start, end: found.end }
}
