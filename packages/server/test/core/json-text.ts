import fc from 'fast-check'

// JSON text with the positions of its values. Each node is written with random white space and escapes, and records its own
// position. The parsers are compared with these positions.

export interface Placed {
  start: number
  end: number
  depth: number
  /** Elements, or members with their names unescaped. */
  children: { name: string | undefined; value: Placed }[]
  kind: 'scalar' | 'array' | 'object'
}

type Node =
  | { kind: 'scalar'; text: string }
  | { kind: 'array'; space: string; elements: { before: string; value: Node; after: string }[] }
  | { kind: 'object'; space: string; members: Member[] }

interface Member {
  before: string
  /** The name as written in the text, with its quotes. */
  name: string
  beforeColon: string
  afterColon: string
  value: Node
  after: string
}

export const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 })

/** The pieces of which a string may be made, each valid by itself. Backslashes, quotes and brackets abound. */
const stringPieces = [
  '\\"',
  '\\\\',
  '\\/',
  '\\n',
  '\\u0022',
  '\\u005c',
  '\\u005C',
  '\\ud800',
  '\\ud83d\\ude00',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  ' ',
  'a',
  'b',
  '\\u0061',
  'é',
  '\u2028',
  '\u{1f600}',
]

export const stringText = fc
  .array(fc.constantFrom(...stringPieces), { maxLength: 8 })
  .map((pieces) => `"${pieces.join('')}"`)

const numberText = fc.oneof(
  fc.constantFrom('0', '-0', '1.0', '-1.5e+10', '1E-7', '12345678901234567890', '1e400'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
)

const scalar: fc.Arbitrary<Node> = fc
  .oneof(fc.constantFrom('true', 'false', 'null'), numberText, stringText)
  .map((text) => ({ kind: 'scalar', text }))

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.record({
      kind: fc.constant('array' as const),
      space,
      elements: fc.array(fc.record({ before: space, value: tie('node'), after: space }), { maxLength: 4 }),
    }),
    fc.record({
      kind: fc.constant('object' as const),
      space,
      members: fc.uniqueArray(
        fc.record({
          before: space,
          name: stringText,
          beforeColon: space,
          afterColon: space,
          value: tie('node'),
          after: space,
        }),
        { maxLength: 4, selector: (member) => JSON.parse(member.name) as string },
      ),
    }),
  ),
}))

const write = (root: Node): { text: string; placed: Placed } => {
  let text = ''
  const put = (value: Node): Placed => {
    const start = text.length
    const children: Placed['children'] = []
    if (value.kind === 'scalar') {
      text += value.text
    } else if (value.kind === 'array') {
      text += `[${value.space}`
      value.elements.forEach((element, i) => {
        text += `${i > 0 ? ',' : ''}${element.before}`
        children.push({ name: undefined, value: put(element.value) })
        text += element.after
      })
      text += ']'
    } else {
      text += `{${value.space}`
      value.members.forEach((member, i) => {
        text += `${i > 0 ? ',' : ''}${member.before}${member.name}${member.beforeColon}:${member.afterColon}`
        children.push({ name: JSON.parse(member.name) as string, value: put(member.value) })
        text += member.after
      })
      text += '}'
    }
    const below = Math.max(0, ...children.map((child) => child.value.depth))
    return { start, end: text.length, depth: value.kind === 'scalar' ? 0 : below + 1, children, kind: value.kind }
  }
  const placed = put(root)
  return { text, placed }
}

/** A JSON text, without white space around it, with the place of every value in it. */
export const jsonText = node.map(write)
