// A naive model of patches. It keeps a document as a tree with every piece of white space in it, edits one member at a time,
// and writes the tree. It shares no code with the rules.

export interface ModelMember {
  before: string
  /** The name as written in the text, with its quotes. */
  name: string
  /** White space, colon, white space. */
  colon: string
  value: ModelNode
  after: string
}

export interface ModelElement {
  before: string
  value: ModelNode
  after: string
}

export type ModelObject = { kind: 'object'; space: string; members: ModelMember[] }
export type ModelArray = { kind: 'array'; space: string; elements: ModelElement[] }
export type ModelNode = { kind: 'scalar'; text: string } | ModelArray | ModelObject

export const writeNode = (node: ModelNode): string => {
  if (node.kind === 'scalar') return node.text
  if (node.kind === 'array') {
    const elements = node.elements.map(({ before, value, after }) => before + writeNode(value) + after)
    return `[${elements.length === 0 ? node.space : elements.join(',')}]`
  }
  const members = node.members.map(
    ({ before, name, colon, value, after }) => before + name + colon + writeNode(value) + after,
  )
  return `{${members.length === 0 ? node.space : members.join(',')}}`
}

const nameOf = (member: ModelMember): string => JSON.parse(member.name) as string

const removeMember = (object: ModelObject, i: number): void => {
  const { members } = object
  const removed = members[i]!
  if (members.length === 1) object.space = removed.before + removed.after
  else if (i === 0) members[1]!.before = removed.before
  else members[i - 1]!.after = removed.after
  members.splice(i, 1)
}

const addMember = (object: ModelObject, name: string, colon: string, value: ModelNode): void => {
  const last = object.members.at(-1)
  const after = last === undefined ? object.space : last.after
  if (last !== undefined) last.after = ''
  object.members.push({ before: '', name, colon, value, after })
}

/** The last member of the name; the others are removed. */
const onlyMember = (object: ModelObject, name: string): ModelMember | undefined => {
  for (;;) {
    const same = object.members.filter((member) => nameOf(member) === name)
    if (same.length <= 1) return same[0]
    removeMember(object, object.members.indexOf(same[0]!))
  }
}

const isNull = (node: ModelNode): boolean => node.kind === 'scalar' && node.text === 'null'

const withoutNulls = (node: ModelNode): ModelNode => {
  if (node.kind !== 'object') return node
  for (const member of [...node.members]) {
    if (isNull(member.value)) removeMember(node, node.members.indexOf(member))
    else member.value = withoutNulls(member.value)
  }
  return node
}

export const modelMerge = (target: ModelObject, patch: ModelObject): void => {
  const added: ModelMember[] = []
  for (const change of patch.members) {
    const { name, value } = change
    const present = onlyMember(target, JSON.parse(name) as string)
    if (present === undefined) {
      if (!isNull(value)) added.push(change)
    } else if (isNull(value)) {
      removeMember(target, target.members.indexOf(present))
    } else if (present.value.kind === 'object' && value.kind === 'object') {
      modelMerge(present.value, value)
    } else {
      present.value = withoutNulls(structuredClone(value))
    }
  }
  // New members follow the last one that is left, so they come after all removals.
  for (const { name, colon, value } of added) addMember(target, name, colon, withoutNulls(structuredClone(value)))
}

/** All numbers are integers of this many decimals. */
const decimals = 800n

export const toFixed = (text: string): bigint => {
  const [, sign, whole, fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!
  const size = BigInt(whole! + fraction) * 10n ** (decimals + BigInt(power) - BigInt(fraction.length))
  return sign === '-' ? -size : size
}

const isAllowed = (fixed: bigint): boolean => {
  const size = fixed < 0n ? -fixed : fixed
  if (size === 0n) return true
  if (size < 10n ** (decimals - 308n) || size >= 10n ** (decimals + 309n)) return false
  return String(size).replace(/0+$/, '').length <= 40
}

/** Written as JavaScript writes numbers, from the digits of the fixed form. */
const writeFixed = (fixed: bigint): string => {
  if (fixed === 0n) return '0'
  const size = String(fixed < 0n ? -fixed : fixed)
  const power = size.length - 1 - Number(decimals)
  const digits = size.replace(/0+$/, '')
  const sign = fixed < 0n ? '-' : ''
  if (power >= 21) return `${sign}${digits.replace(/^(.)(.+)$/, '$1.$2')}e+${power}`
  if (power < -6) return `${sign}${digits.replace(/^(.)(.+)$/, '$1.$2')}e${power}`
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`
  const padded = digits.padEnd(power + 1, '0')
  const fraction = padded.slice(power + 1)
  return `${sign}${padded.slice(0, power + 1)}${fraction === '' ? '' : `.${fraction}`}`
}

interface ModelIncrement {
  by: string
  min?: string
  max?: string
}

/** The sum as text, or the code of the error. */
export const modelSum = (present: string, { by, min, max }: ModelIncrement): { text: string } | { code: string } => {
  if (!isAllowed(toFixed(present))) return { code: 'not_a_number' }
  const sum = toFixed(present) + toFixed(by)
  if (min !== undefined && sum < toFixed(min)) return { code: 'precondition_failed' }
  if (max !== undefined && sum > toFixed(max)) return { code: 'precondition_failed' }
  return isAllowed(sum) ? { text: writeFixed(sum) } : { code: 'not_a_number' }
}

/** Changes one place. Returns the code of the error, if there is one; then the document may be half changed. */
export const modelPlace = (
  root: ModelObject,
  path: string[],
  change: { increment: ModelIncrement } | { append: ModelArray },
): string | undefined => {
  const wrong = 'increment' in change ? 'not_a_number' : 'not_an_array'
  let holder: { value: ModelNode } = { value: root }
  for (const [level, token] of path.entries()) {
    const node = holder.value
    if (node.kind === 'object') {
      let member = onlyMember(node, token)
      if (member === undefined) {
        const isLast = level === path.length - 1
        const fresh: ModelNode = !isLast
          ? { kind: 'object', space: '', members: [] }
          : 'append' in change
            ? structuredClone(change.append)
            : { kind: 'scalar', text: '0' }
        addMember(node, JSON.stringify(token), ':', fresh)
        if (isLast && 'append' in change) return undefined
        member = node.members.at(-1)!
      }
      holder = member
    } else if (node.kind === 'array') {
      const element = node.elements.find((_, i) => `${i}` === token)
      if (element === undefined) return wrong
      holder = element
    } else {
      return wrong
    }
  }
  const found = holder.value
  if ('increment' in change) {
    if (found.kind !== 'scalar' || !/^[-0-9]/.test(found.text)) return wrong
    const sum = modelSum(found.text, change.increment)
    if ('code' in sum) return sum.code
    holder.value = { kind: 'scalar', text: sum.text }
    return undefined
  }
  if (found.kind !== 'array') return wrong
  const added = structuredClone(change.append.elements)
  if (added.length === 0) return undefined
  const last = found.elements.at(-1)
  added.at(-1)!.after = last === undefined ? found.space : last.after
  if (last !== undefined) last.after = ''
  added[0]!.before = ''
  found.elements.push(...added)
  return undefined
}
