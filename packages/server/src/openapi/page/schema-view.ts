import type { Schema } from '../../operations/schema.ts'
import type { OpenApiDocument } from '../types.ts'
import { type Html, html } from './html.ts'
import { inline } from './markdown.ts'

export const schemaName = (schema: Schema): string | undefined => schema.$ref?.split('/').at(-1)

const link = (name: string): Html => html`<a href="#schema-${name}">${name}</a>`

const joined = (parts: Html[], between: string): Html =>
  html`${parts.map((part, i) => (i === 0 ? part : [between, part]))}`

/** How the page shows a use of the schema: a link to its name, or its type in words. */
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
  ...(schema.pattern === undefined ? [] : [`matches \`${schema.pattern}\``]),
  ...(schema.not?.enum === undefined ? [] : [`not ${schema.not.enum.map((value) => `\`${value}\``).join(' or ')}`]),
  ...(schema.default === undefined ? [] : [`\`${JSON.stringify(schema.default)}\` when absent`]),
]

/** Type, bounds and description of a field or parameter. */
export const described = (schema: Schema, required: boolean, description = schema.description): Html => {
  const constraints = constraintsOf(schema)
  const facts = constraints.length === 0 ? '' : html`; ${inline(constraints.join('; '))}`
  const need = required ? html` <span class="required">required</span>` : ''
  const text = description === undefined ? '' : html`<p>${inline(description)}</p>`
  return html`<p class="type">${typeOf(schema)}${facts}${need}</p>${text}`
}

/** The description of the field itself, otherwise that of the schema it refers to. */
const descriptionOf = (document: OpenApiDocument, schema: Schema): string | undefined =>
  schema.description ?? document.components.schemas[schemaName(schema) ?? '']?.description

const fields = (document: OpenApiDocument, schema: Schema): Html => {
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0) return html``
  const rows = properties.map(([name, property]) => {
    const nested = property.properties === undefined ? '' : fields(document, property)
    const text = described(property, schema.required?.includes(name) ?? false, descriptionOf(document, property))
    return html`<div><dt><code>${name}</code></dt><dd>${text}${nested}</dd></div>`
  })
  return html`<dl class="fields">${rows}</dl>`
}

/** Shows each of several alternative objects. */
export const alternativesView = (document: OpenApiDocument, alternatives: Schema[]): Html => {
  const views = alternatives.map((alternative) => {
    const name = schemaName(alternative)!
    const whole = document.components.schemas[name]!
    return html`<h5>${link(name)}</h5><p>${inline(whole.description ?? '')}</p>${fields(document, whole)}`
  })
  return html`${views}`
}

/** The whole of a named schema: its fields, its alternatives, or its type. */
export const schemaView = (document: OpenApiDocument, name: string): Html => {
  const schema = document.components.schemas[name]!
  if (schema.oneOf !== undefined) return alternativesView(document, schema.oneOf)
  return schema.properties === undefined ? described(schema, false, '') : fields(document, schema)
}
