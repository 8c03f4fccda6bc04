import type { OpenApiDocument, OperationObject, Reference, ResponseObject } from '../types.ts'
import { type Entry, parametersOf, resolve } from './entries.ts'
import { examplesView } from './example-view.ts'
import { type Html, html } from './html.ts'
import { code, inline, markdown } from './markdown.ts'
import { alternativesView, fieldView, schemaName, schemaView, typeOf } from './schema-view.ts'

const keyOf = ({ security }: OperationObject): string => {
  if (security.length === 0) return 'no key'
  return security.length === 1 ? 'secret key' : 'secret or public key'
}

const parameterList = (document: OpenApiDocument, entry: Entry): Html => {
  const parameters = parametersOf(document, entry)
  if (parameters.length === 0) return html``
  const prefix = entry.operation.operationId
  const rows = parameters.map(({ name, in: parameterIn, schema, required = false, description }) =>
    fieldView({ id: `${prefix}-${name}`, name, schema, required, description, place: parameterIn }),
  )
  return html`<h4>Parameters</h4><dl class="fields">${rows}</dl>`
}

const bodyView = (document: OpenApiDocument, { operation }: Entry): Html => {
  if (operation.requestBody === undefined) return html``
  const { description, required, content } = operation.requestBody
  const schema = content['application/json']?.schema
  if (schema === undefined) return html`<h4>Body</h4><p class="note">Bytes of any type. ${description}</p>`
  const name = schemaName(schema)!
  const prefix = `${operation.operationId}-body`
  // The elements of a list are described with the body too.
  const properties = Object.values(document.components.schemas[name]!.properties ?? {})
  const listed = properties.flatMap(({ items }) => items?.oneOf ?? items?.anyOf ?? [])
  return html`<h4>Body</h4>
<p class="note">${typeOf(schema)}${required ? '' : ', or empty'}. ${description}</p>
${schemaView(document, name, prefix)}${alternativesView(document, listed, prefix)}`
}

// ── Answers ────────────────────────────────────────────────────────────────────────────────────────────────

/** Headers of every answer, explained once in the introduction. */
const everywhere = ['X-Request-Id', 'Cache-Control', 'Access-Control-Allow-Origin', 'Access-Control-Expose-Headers']

const headerNote = (response: ResponseObject): Html => {
  const names = Object.keys(response.headers ?? {}).filter((name) => !everywhere.includes(name))
  if (names.length === 0) return html``
  return html`<span class="type">with ${names.map((name, i) => [i === 0 ? '' : ', ', html`<code>${name}</code>`])}</span>`
}

/** Named by the answer itself, or by a schema that narrows the one of all errors. */
const errorCodesOf = (response: ResponseObject): string[] => {
  const narrowed = response.content?.['application/json']?.schema.allOf?.[1]
  const { 'x-error-codes': named } = response as { 'x-error-codes'?: string[] }
  return named ?? ((narrowed?.properties?.error?.properties?.code?.enum ?? []) as string[])
}

const responseView = (document: OpenApiDocument, status: string, value: ResponseObject | Reference): Html => {
  const response = resolve(document, value)
  const codes = errorCodesOf(response)
  const schema = Object.values(response.content ?? {})[0]?.schema
  const what =
    codes.length > 0
      ? html`<p class="codes">${codes.map((name) => html`<span>${code(name)}</span> `)}</p>`
      : html`<p>${inline(response.description)} ${schema === undefined ? '' : typeOf(schema)}</p>`
  return html`<div><dt>${status}</dt><dd>${what}${headerNote(response)}</dd></div>`
}

const answerList = (document: OpenApiDocument, { operation }: Entry): Html => html`<h4>Answers</h4>
<dl class="answers">${Object.entries(operation.responses)
  // The HTTP parser sends it; the introduction explains it once.
  .filter(([status]) => status !== '431')
  .map(([status, value]) => responseView(document, status, value))}</dl>`

// ── The section ────────────────────────────────────────────────────────────────────────────────────────────

/** A path may break only before a slash. */
const pathView = (path: string): Html => {
  const segments = path.slice(1).split('/')
  const view = (segment: string) => (segment.startsWith('{') ? html`<var>${segment}</var>` : segment)
  return html`<code>${segments.map((segment) => [html`<wbr>/`, view(segment)])}</code>`
}

export const operationView = (document: OpenApiDocument, entry: Entry): Html => {
  const { method, path, operation } = entry
  return html`
<section class="operation columns" id="${operation.operationId}" data-find="operation" data-target="${method.toUpperCase()} ${path}">
<div class="text">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span> ${pathView(path)} <span class="key">${keyOf(operation)}</span></p>
${markdown(operation.description)}
</div>
${examplesView(entry)}
<div class="details">
${parameterList(document, entry)}
${bodyView(document, entry)}
${answerList(document, entry)}
</div>
</section>`
}
