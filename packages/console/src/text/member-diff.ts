import { hasSameTokens } from './keep-layout.ts'
import { type Member, membersOf, type Span } from './scan.ts'

const plainName = /^[\p{L}\p{N}_$-]+$/u

const pathTo = (path: string, name: string): string => {
  const step = plainName.test(name) ? name : JSON.stringify(name)
  return path === '' ? step : `${path}.${step}`
}

/** By name, and the second of two members with one name by its place among them. */
const byName = (members: Member[]): Map<string, Member> => {
  const named = new Map<string, Member>()
  for (const member of members) {
    let nth = 0
    while (named.has(`${nth} ${member.name}`)) nth++
    named.set(`${nth} ${member.name}`, member)
  }
  return named
}

const isObject = (text: string, at: Span): boolean => text[at.start] === '{'

/**
 * The paths of the members in which two JSON objects differ, such as `status` and `address.city`. White space and the order of
 * members are no difference.
 */
export const differingMembers = (mine: string, stored: string): string[] => {
  const found = new Set<string>()
  const walk = (left: Map<string, Member>, right: Map<string, Member>, path: string): void => {
    for (const key of new Set([...left.keys(), ...right.keys()])) {
      const [a, b] = [left.get(key), right.get(key)]
      const own = pathTo(path, (a ?? b)!.name)
      if (a === undefined || b === undefined) found.add(own)
      else if (hasSameTokens(mine.slice(a.start, a.end), stored.slice(b.start, b.end))) continue
      else if (isObject(mine, a) && isObject(stored, b))
        walk(byName(membersOf(mine, a.start)), byName(membersOf(stored, b.start)), own)
      else found.add(own)
    }
  }
  walk(byName(membersOf(mine)), byName(membersOf(stored)), '')
  return [...found]
}
