import { schemaName } from '../../src/openapi/page/schema-view.ts'
import type { OpenApiDocument } from '../../src/openapi/types.ts'
import type { Schema } from '../../src/operations/schema.ts'
import { code, table } from './markdown.ts'

interface Shown {
  name: string
  /** The heading of the operation that shows it. */
  anchor: string
  members: Map<string, string>
}

/** Shorter texts are said again where they are needed. */
const worthReferring = 60

const number = (value: number): string => value.toLocaleString('en-US')

/** A member with its properties, to compare it with that of another schema. */
const membersOf = ({ properties = {}, required = [] }: Schema): Map<string, string> =>
  new Map(Object.entries(properties).map(([name, member]) => [name, JSON.stringify([member, required.includes(name)])]))

/** Tables of the members of schemas. Each schema has its table once on the page, and others refer to it. */
export class SchemaTables {
  readonly #schemas: Record<string, Schema>
  readonly #shown: Shown[] = []
  /** Members with all that is said about them, and the schema that has shown each first. */
  readonly #seen = new Map<string, string>()
  /** The section that is being written. */
  #anchor = ''

  constructor(document: OpenApiDocument) {
    this.#schemas = document.components.schemas
  }

  /** The type in words, with bounds. Schemas with a table are named. */
  type(schema: Schema): string {
    const name = schemaName(schema)
    if (name !== undefined) return this.#hasTable(name) ? this.link(name) : this.type(this.#schemas[name]!)
    const alternatives = schema.oneOf ?? schema.anyOf
    if (alternatives !== undefined) return [...new Set(alternatives.map((one) => this.type(one)))].join(' or ')
    if (schema.const !== undefined) return code(JSON.stringify(schema.const))
    if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ')
    const types = [schema.type ?? 'any'].flat()
    const ofItems = schema.items === undefined ? '' : ` of ${this.type(schema.items)}`
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER, default: absent } = schema
    const bounds = maximum < Number.MAX_SAFE_INTEGER && minimum >= 0 ? ` ${number(minimum)} to ${number(maximum)}` : ''
    const byDefault = absent === undefined ? '' : `, ${code(JSON.stringify(absent))} by default`
    const more: Record<string, string> = { array: ofItems, integer: bounds, number: bounds }
    return types.map((type) => type + (more[type] ?? '')).join(' or ') + byDefault
  }

  /** A link to the section that has the members of the schema, from another one. */
  link(name: string): string {
    const shown = this.#shown.find((one) => one.name === name)
    return shown === undefined || shown.anchor === this.#anchor ? code(name) : `[${code(name)}](#${shown.anchor})`
  }

  begin(anchor: string): void {
    this.#anchor = anchor
  }

  /** The first section that has the parameter, unless it is this one. */
  sectionOf(parameter: string, section: string): string | undefined {
    const first = this.#seen.get(parameter)
    if (first === undefined) this.#seen.set(parameter, section)
    return first
  }

  isShown(name: string): boolean {
    return this.#shown.some((one) => one.name === name)
  }

  /** Tables of the schema and of those in it, unless the page has them already. */
  show(name: string): string[] {
    if (this.isShown(name) || !this.#hasTable(name)) return []
    const schema = this.#schemas[name]!
    const members = membersOf(schema)
    const base = this.#baseOf(members)
    this.#shown.push({ name, anchor: this.#anchor, members })
    const isNew = ([member, value]: [string, string]): boolean =>
      !this.#seen.has(member + value) || this.#text(schema.properties![member]!).length < worthReferring
    const rows = [...members]
      .filter(([member, value]) => base?.members.get(member) !== value && isNew([member, value]))
      .flatMap(([member]) => this.#rows(member, schema))
    const known = [...members].filter((one) => base?.members.get(one[0]) !== one[1] && !isNew(one))
    const own = `**${code(name)}**: ${this.#introduction(schema, members, base, known, rows.length > 0)}`
    for (const [member, value] of members) {
      if (!this.#seen.has(member + value)) this.#seen.set(member + value, name)
    }
    return [own + membersText(rows), ...this.#named(schema).flatMap((inner) => this.show(inner))]
  }

  row(name: string, schema: Schema, required: boolean, isRequest: boolean, description = this.#text(schema)): string[] {
    const mark = isRequest && required ? ', required' : !isRequest && !required ? ', optional' : ''
    return [code(name), this.type(schema) + mark, description]
  }

  /** The row of a member, and those of its members if its type has no name. */
  #rows(name: string, { properties = {}, required = [], ...rest }: Schema, path = ''): string[][] {
    const member = properties[name]!
    const inner = Object.keys(member.properties ?? {})
    return [
      this.row(path + name, member, required.includes(name), isClosed(rest)),
      ...inner.flatMap((one) => this.#rows(one, member, `${path}${name}.`)),
    ]
  }

  /** The description, and where the members are that the page has shown before. */
  #introduction(
    { description = '' }: Schema,
    members: Map<string, string>,
    base: Shown | undefined,
    known: [string, string][],
    hasMore: boolean,
  ): string {
    const places = Map.groupBy(known, ([name, value]) => this.#seen.get(name + value)!)
    const without = base === undefined ? [] : [...base.members.keys()].filter((name) => !members.has(name))
    const taken = [
      ...(base === undefined
        ? []
        : [`the members of ${this.link(base.name)}${without.length === 0 ? '' : ` without ${listed(without)}`}`]),
      ...[...places].map(([place, same]) => `${listed(same.map(([name]) => name))} of ${this.link(place)}`),
    ]
    if (taken.length === 0) return description
    return `${description} It has ${taken.join(', ')}${hasMore ? ', and:' : '.'}`
  }

  /** A schema that the page has shown and that has most of these members. */
  #baseOf(members: Map<string, string>): Shown | undefined {
    const sharedWith = (one: Shown): number =>
      [...one.members].filter(([name, value]) => members.get(name) === value).length
    const lacking = (one: Shown): number => [...one.members.keys()].filter((name) => !members.has(name)).length
    return this.#shown
      .filter((one) => sharedWith(one) >= 2 && lacking(one) <= 1 && sharedWith(one) * 2 >= members.size - 1)
      .toSorted((a, b) => sharedWith(b) - sharedWith(a))[0]
  }

  /** A named schema has a table of its own, which is not repeated where the schema is used. */
  #text(schema: Schema): string {
    const name = schemaName(schema)
    if (schema.description !== undefined || name === undefined) return schema.description ?? ''
    return this.#hasTable(name) ? '' : (this.#schemas[name]!.description ?? '')
  }

  /** Objects with members, and alternatives that are objects. */
  #hasTable(name: string): boolean {
    const { properties, oneOf, anyOf } = this.#schemas[name]!
    if (properties !== undefined) return Object.keys(properties).length > 0
    return (oneOf ?? anyOf ?? []).some((one) => schemaName(one) !== undefined)
  }

  /** The schemas that it refers to. */
  #named(schema: Schema): string[] {
    const { properties = {}, items, oneOf = [], anyOf = [] } = schema
    const inside = [...Object.values(properties), ...(items === undefined ? [] : [items]), ...oneOf, ...anyOf]
    return inside.flatMap((one) => [...(schemaName(one) === undefined ? this.#named(one) : [schemaName(one)!])])
  }
}

const listed = (names: string[]): string => {
  const codes = names.map(code)
  return codes.length < 2 ? codes.join('') : `${codes.slice(0, -1).join(', ')} and ${codes.at(-1)}`
}

/** A request: unknown members are rejected. */
const isClosed = (schema: Schema): boolean => schema.additionalProperties === false

/** A table, or a list of one or two members. */
export const membersText = (rows: string[][], head = 'member'): string => {
  const joined = joinedRows(rows)
  if (joined.length > 2) return `\n\n${table([head, 'type', ''], joined)}`
  return joined.map(([name, type, text]) => `\n- ${name} (${type})${text === '' ? '' : `: ${text}`}`).join('')
}

/** Members that differ in their name only share a row. */
const joinedRows = (rows: string[][]): string[][] => {
  const joined = Map.groupBy(rows, ([, type, text]) => `${type}\n${text}`)
  return [...joined.values()].map((same) => [same.map(([name]) => name).join(', '), same[0]![1]!, same[0]![2]!])
}
