import type { Schema } from '../../operations/schema.ts'
import type { OpenApiDocument } from '../types.ts'
import { type Html, html } from './html.ts'
import { inline } from './markdown.ts'

export const schemaName = (schema: Schema): string | undefined => schema.$ref?.split('/').at(-1)

const link = (name: string): Html => html`<a href="#schema-${name}">${name}</a>`

const joined = (parts: Html[], between: string): Html =>
  html`${parts.map((part, i) => (i === 0 ? part : [between, part]))}`

/** Shows a use of the schema: a link to its name, or its type in words. */
export const typeOf = (schema: Schema): Html => {
  const name = schemaName(schema)
  if (name !== undefined) return link(name)
  const alternatives = schema.oneOf ?? schema.anyOf
  if (alternatives !== undefined) return joined(alternatives.map(typeOf), ' or ')
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum !== undefined) {
    return joined(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' or ',
    )
  }
  const types = [schema.type ?? 'any'].flat()
  const ofItems = schema.items === undefined ? '' : html` of ${typeOf(schema.items)}`
  return html`${types.map((type, i) => [i === 0 ? '' : ' or ', type, type === 'array' ? ofItems : ''])}`
}

const number = (value: number): string => value.toLocaleString('en-US')

/** The bounds in words; one of them may be missing. */
const bounds = (low: number | undefined, high: number | undefined, unit: string): string[] => {
  if (low === undefined && high === undefined) return []
  const suffix = unit === '' ? '' : ` ${unit}`
  if (low !== undefined && low === high) return [`exactly ${number(low)}${suffix}`]
  if (high === undefined) return [`at least ${number(low!)}${suffix}`]
  return [low === undefined ? `at most ${number(high)}${suffix}` : `${number(low)} to ${number(high)}${suffix}`]
}

const constraintsOf = (schema: Schema): string[] => [
  ...bounds(schema.minLength, schema.maxLength, 'characters'),
  ...bounds(schema.minItems, schema.maxItems, 'items'),
  ...bounds(schema.minProperties, schema.maxProperties, 'member'),
  ...bounds(schema.minimum, schema.maximum, ''),
  ...(schema.not?.enum === undefined ? [] : [`not ${schema.not.enum.map((value) => `\`${value}\``).join(' or ')}`]),
  ...(schema.default === undefined ? [] : [`\`${JSON.stringify(schema.default)}\` when absent`]),
]

/** A pattern is for programs. Where a description says the same in words, only the list of schemas shows it. */
const patternOf = ({ pattern }: Schema): string[] => (pattern === undefined ? [] : [`matches \`${pattern}\``])

const typeView = (schema: Schema, withPattern: boolean): Html => {
  const constraints = [...constraintsOf(schema), ...(withPattern ? patternOf(schema) : [])]
  const facts = constraints.length === 0 ? '' : html`, ${inline(constraints.join(', '))}`
  return html`<span class="type">${typeOf(schema)}${facts}</span>`
}

interface Field {
  id: string
  name: string
  schema: Schema
  required: boolean
  description?: string
  /** The part of the request that has it, if it is not the body. */
  place?: string
  nested?: Html
}

/** One row of a list of fields or parameters. Links lead to its id. */
export const fieldView = ({ id, name, schema, required, description, place, nested }: Field): Html => html`
<div id="${id}" data-find="field"><dt><code>${name}</code>${place === undefined ? '' : html` <span class="place">${place}</span>`} ${typeView(schema, id.startsWith('schema-') || description === undefined)}${required ? html` <span class="required">required</span>` : ''}</dt><dd>${description === undefined ? '' : html`<p>${inline(description)}</p>`}${nested}</dd></div>`

/** The description of the field itself, otherwise that of the schema it refers to. */
const descriptionOf = (document: OpenApiDocument, schema: Schema): string | undefined =>
  schema.description ?? document.components.schemas[schemaName(schema) ?? '']?.description

/** The fields of an object that has a name, folded below the field that holds it. */
const foldedFields = (document: OpenApiDocument, schema: Schema, prefix: string): Html | undefined => {
  const name = schemaName(schema)
  const whole = document.components.schemas[name ?? '']
  if (name === undefined || whole?.properties === undefined) return undefined
  return html`<details class="nested"><summary>Fields of ${name}</summary>${fields(document, whole, prefix)}</details>`
}

/** `prefix` makes the ids of the rows: a schema is shown wherever it is used. */
const fields = (document: OpenApiDocument, schema: Schema, prefix: string): Html => {
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0) return html``
  const rows = properties.map(([name, property]) => {
    const id = `${prefix}-${name}`
    // The list of all schemas needs no more than the link.
    const folded = prefix.startsWith('schema-') ? undefined : foldedFields(document, property, id)
    const nested = property.properties === undefined ? folded : fields(document, property, id)
    const required = schema.required?.includes(name) ?? false
    return fieldView({ id, name, schema: property, required, description: descriptionOf(document, property), nested })
  })
  return html`<dl class="fields">${rows}</dl>`
}

/** Shows each of several alternatives: with its fields, or with its type if it is not a named object. */
export const alternativesView = (document: OpenApiDocument, alternatives: Schema[], prefix: string): Html => {
  const views = alternatives.map((alternative) => {
    const name = schemaName(alternative)
    const whole = document.components.schemas[name ?? '']
    if (name === undefined || whole === undefined) return html`<p>${typeView(alternative, true)}</p>`
    return html`<div class="alternative" data-find="schema"><p class="name">${link(name)}</p>
${whole.description === undefined ? '' : html`<p>${inline(whole.description)}</p>`}${schemaView(document, name, `${prefix}-${name}`)}</div>`
  })
  return html`${views}`
}

/** The whole of a named schema: its fields, its alternatives, or its type. */
export const schemaView = (document: OpenApiDocument, name: string, prefix: string): Html => {
  const schema = document.components.schemas[name]!
  const alternatives = schema.oneOf ?? schema.anyOf ?? []
  // Plain types fit into one line.
  if (alternatives.some(({ $ref }) => $ref !== undefined)) return alternativesView(document, alternatives, prefix)
  return schema.properties === undefined ? html`<p>${typeView(schema, true)}</p>` : fields(document, schema, prefix)
}
