import { hasSameTokens } from './keep-layout.ts'
import { type Member, membersOf, type Span, skipString } from './scan.ts'

const plainName = /^[\p{L}\p{N}_$-]+$/u

const pathTo = (path: string, name: string): string => {
  const step = plainName.test(name) ? name : JSON.stringify(name)
  return path === '' ? step : `${path}.${step}`
}

/** Finds members by name, and the second of two members with one name by its place among them. */
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

/** A member that differs, such as `status` or `address.city`, with the text of its value on each side that has it. */
export interface MemberDiff {
  path: string
  mine?: string
  stored?: string
}

/** Visits each pair of members of two objects: those that are the same, those that differ, and pairs of objects. */
const eachPair = (
  mine: string,
  stored: string,
  [mineAt, storedAt, path]: [number, number, string],
  visit: (own: string, a: Member | undefined, b: Member | undefined, kind: 'same' | 'objects' | 'differ') => void,
): void => {
  const left = byName(membersOf(mine, mineAt))
  const right = byName(membersOf(stored, storedAt))
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const [a, b] = [left.get(key), right.get(key)]
    const own = pathTo(path, (a ?? b)!.name)
    if (a === undefined || b === undefined) visit(own, a, b, 'differ')
    else if (hasSameTokens(mine.slice(a.start, a.end), stored.slice(b.start, b.end))) visit(own, a, b, 'same')
    else visit(own, a, b, isObject(mine, a) && isObject(stored, b) ? 'objects' : 'differ')
  }
}

/** The members in which two JSON objects differ. White space and the order of members are no difference. */
export const memberDiffs = (mine: string, stored: string): MemberDiff[] => {
  const found = new Map<string, MemberDiff>()
  const walk = (at: [number, number, string]): void =>
    eachPair(mine, stored, at, (path, a, b, kind) => {
      if (kind === 'objects') walk([a!.start, b!.start, path])
      if (kind !== 'differ' || found.has(path)) return
      found.set(path, {
        path,
        mine: a && mine.slice(a.start, a.end),
        stored: b && stored.slice(b.start, b.end),
      })
    })
  walk([0, 0, ''])
  return [...found.values()]
}

const overlaps = (a: string, b: string): boolean => a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`)

/** The paths of `all` that also changed from `base` to `text`. */
export const changedSince = (base: string, text: string, all: readonly MemberDiff[]): Set<string> => {
  const changed = memberDiffs(base, text)
  return new Set(all.map(({ path }) => path).filter((path) => changed.some((each) => overlaps(each.path, path))))
}

/** My object with the stored value of each member in `taken`. The text of all other members stays as it is. */
export const mergeMembers = (mine: string, stored: string, taken: ReadonlySet<string>): string => {
  const walk = (at: [number, number, string]): string => {
    const parts: string[] = []
    const named = (text: string, member: Member, value: string): unknown =>
      parts.push(`${text.slice(member.nameStart, skipString(text, member.nameStart))}:${value}`)
    eachPair(mine, stored, at, (path, a, b, kind) => {
      if (kind === 'objects') named(mine, a!, walk([a!.start, b!.start, path]))
      else if (kind === 'same' || !taken.has(path)) a && named(mine, a, mine.slice(a.start, a.end))
      else if (b) named(stored, b, stored.slice(b.start, b.end))
    })
    return `{${parts.join(',')}}`
  }
  return walk([0, 0, ''])
}
