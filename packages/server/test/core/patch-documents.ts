import type { ModelArray, ModelMember, ModelNode, ModelObject } from './patch-model.ts'

/** Random documents for patches, the same for the same seed. */
export class PatchDocuments {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** An integer from 0 to below `bound`. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!
  }

  space(): string {
    return this.below(3) > 0 ? '' : this.pick([' ', '\n', '\t', '\r\n', '  \t', '\n  '])
  }

  /** A name with one of the ways to write it. Few names, so that documents and patches share them. */
  name(): string {
    return this.pick([
      '"a"',
      '"\\u0061"',
      '"b"',
      '"c"',
      '"d"',
      '""',
      '"0"',
      '"1"',
      '"__proto__"',
      '"\\u005f_proto__"',
      '"constructor"',
      '"a/b"',
      '"a\\/b"',
      '"~"',
      '"~1"',
      '"é"',
      '"\\u00E9"',
      '"\\ud83d\\ude00"',
      '"\u{1f600}"',
      '"\\ud800"',
      '"q\\"{,"',
      '"\\\\"',
    ])
  }

  digits(most: number): string {
    let digits = ''
    for (let left = this.below(most); left >= 0; left--) digits += this.pick(['0', '0', '9', '9', '1', '5', '4'])
    return digits
  }

  number(): string {
    const sign = this.pick(['', '', '-'])
    const whole = this.digits(this.pick([1, 3, 25])).replace(/^0+(?=.)/, '')
    const fraction = this.below(3) > 0 ? '' : `.${this.digits(this.pick([2, 25]))}`
    if (this.below(4) > 0) return sign + whole + fraction
    const power = this.pick([0, 1, 5, 6, 7, 20, 21, 22, 290, 308, 309])
    return sign + whole + fraction + this.pick(['e', 'E']) + this.pick(['', '+', '-', '+00', '-0']) + power
  }

  scalar(): ModelNode {
    const text = this.pick([
      () => this.number(),
      () => this.number(),
      () => this.pick(['null', 'null', 'true', 'false']),
      () => this.pick(['"x"', '""', '"}\\""', '"null"', '"\\u0000 [,"']),
    ])()
    return { kind: 'scalar', text }
  }

  node(depth: number): ModelNode {
    if (depth === 0 || this.below(2) === 0) return this.scalar()
    return this.below(3) === 0 ? this.array(depth - 1) : this.object(depth - 1, true)
  }

  array(depth: number): ModelArray {
    const elements = Array.from({ length: this.below(4) }, () => ({
      before: this.space(),
      value: this.node(depth),
      after: this.space(),
    }))
    return { kind: 'array', space: this.space(), elements }
  }

  /** `twice`: whether names may appear twice, here and below. */
  object(depth: number, twice: boolean): ModelObject {
    const members: ModelMember[] = []
    const names = new Set<unknown>()
    for (let left = this.below(7); left > 0; left--) {
      const name = this.name()
      if (!twice && names.has(JSON.parse(name))) continue
      names.add(JSON.parse(name))
      members.push({
        before: this.space(),
        name,
        colon: `${this.space()}:${this.space()}`,
        value: twice ? this.node(depth) : this.distinctNode(depth),
        after: this.space(),
      })
    }
    return { kind: 'object', space: this.space(), members }
  }

  /** Half of the objects of a merge are deep, and many of their members are null. */
  distinctNode(depth: number): ModelNode {
    if (depth === 0 || this.below(2) === 0)
      return this.below(3) === 0 ? { kind: 'scalar', text: 'null' } : this.scalar()
    if (this.below(4) > 0) return this.object(depth - 1, false)
    const elements = Array.from({ length: this.below(3) }, () => ({
      before: this.space(),
      value: this.distinctNode(depth - 1),
      after: this.space(),
    }))
    return { kind: 'array', space: this.space(), elements }
  }

  /** A path that leads to a place of the document, to a missing one, or nowhere. */
  path(root: ModelObject): string[] {
    const path: string[] = []
    let node: ModelNode = root
    while (path.length < 5) {
      if (node.kind === 'scalar' && path.length > 0 && this.below(8) > 0) break
      if (node.kind === 'array' && this.below(3) === 0) break
      if (node.kind === 'object' && node.members.length > 0 && this.below(5) > 0) {
        const member: ModelMember = this.pick(node.members)
        path.push(JSON.parse(member.name) as string)
        node = member.value
      } else if (node.kind === 'array' && node.elements.length > 0 && this.below(5) > 0) {
        const index = this.below(node.elements.length)
        path.push(`${index}`)
        node = node.elements[index]!.value
      } else {
        path.push(this.pick([JSON.parse(this.name()) as string, '-', '00', '1.0', '7', '-0', '1e0']))
        node = { kind: 'scalar', text: 'null' }
      }
    }
    return path
  }
}
