import type {
  CodeSample,
  ExampleObject,
  GivenStep,
  OpenApiDocument,
  OperationObject,
  Parameter,
  Reference,
  ResponseObject,
} from '../types.ts'
import type { Entry } from './entries.ts'
import { type Html, html } from './html.ts'
import { code, inline, markdown } from './markdown.ts'
import { alternativesView, described, schemaName, schemaView, typeOf } from './schema-view.ts'

/** Follows a reference into the components of the document. */
const resolve = <T extends object>(document: OpenApiDocument, value: T | Reference): T => {
  if (!('$ref' in value)) return value
  const [, , kind, name] = (value as Reference).$ref.split('/')
  return (document.components as unknown as Record<string, Record<string, T>>)[kind!]![name!]!
}

const keyOf = ({ security }: OperationObject): string => {
  if (security.length === 0) return 'no key'
  return security.length === 1 ? 'secret key' : 'secret or public key'
}

const parameterList = (document: OpenApiDocument, { operation }: Entry): Html => {
  const parameters = (operation.parameters ?? []).map((value) => resolve<Parameter>(document, value))
  if (parameters.length === 0) return html``
  const rows = parameters.map(
    ({ name, in: where, schema, required, description }) => html`
<div><dt><code>${name}</code><small>${where}</small></dt><dd>${described(schema, required ?? false, description)}</dd></div>`,
  )
  return html`<h4>Parameters</h4><dl class="fields">${rows}</dl>`
}

const bodyView = (document: OpenApiDocument, { operation }: Entry): Html => {
  if (operation.requestBody === undefined) return html``
  const { description, required, content } = operation.requestBody
  const { schema } = content['application/json']!
  const name = schemaName(schema)!
  // The elements of a list are described with the body too.
  const properties = Object.values(document.components.schemas[name]!.properties ?? {})
  const listed = properties.flatMap(({ items }) => items?.oneOf ?? [])
  return html`<h4>Body</h4>
<p>${typeOf(schema)}${required ? '' : ', or empty'}. ${description}</p>
${schemaView(document, name)}${alternativesView(document, listed)}`
}

// ── Answers ────────────────────────────────────────────────────────────────────────────────────────────────

/** Headers of every answer, explained once in the introduction. */
const everywhere = ['X-Request-Id', 'Cache-Control', 'Access-Control-Allow-Origin', 'Access-Control-Expose-Headers']

const headerNote = (response: ResponseObject): Html => {
  const names = Object.keys(response.headers ?? {}).filter((name) => !everywhere.includes(name))
  if (names.length === 0) return html``
  return html`<p class="type">with ${names.map((name, i) => [i === 0 ? '' : ', ', html`<code>${name}</code>`])}</p>`
}

const errorCodesOf = (response: ResponseObject): string[] => response['x-error-codes'] ?? []

const answerView = (document: OpenApiDocument, status: string, value: ResponseObject | Reference): Html => {
  const response = resolve(document, value)
  const codes = errorCodesOf(response)
  const schema = Object.values(response.content ?? {})[0]?.schema
  const what =
    codes.length > 0
      ? html`<p>${codes.map((name, i) => [i === 0 ? '' : ', ', code(name)])}</p>`
      : html`<p>${inline(response.description)} ${schema === undefined ? '' : typeOf(schema)}</p>`
  return html`<div><dt>${status}</dt><dd>${what}${headerNote(response)}</dd></div>`
}

const answerList = (document: OpenApiDocument, { operation }: Entry): Html => html`<h4>Answers</h4>
<dl class="fields answers">${Object.entries(operation.responses).map(([status, value]) => answerView(document, status, value))}</dl>`

// ── Examples ───────────────────────────────────────────────────────────────────────────────────────────────

interface ShownAnswer {
  status: string
  headers: [string, string][]
  /** undefined: no body. */
  value?: unknown
  given: GivenStep[]
}

/** The answer that has an example with this name, for its body or for a header. */
const answerOf = (document: OpenApiDocument, operation: OperationObject, name: string): ShownAnswer => {
  for (const [status, described] of Object.entries(operation.responses)) {
    const response = resolve(document, described)
    const body = Object.values(response.content ?? {})[0]?.examples?.[name] as ExampleObject | undefined
    const shown = Object.entries(response.headers ?? {}).flatMap(([header, value]): [string, ExampleObject][] => {
      const example = resolve(document, value).examples?.[name]
      return example === undefined ? [] : [[header, example as ExampleObject]]
    })
    if (body === undefined && shown.length === 0) continue
    const given = [body, ...shown.map(([, example]) => example)].flatMap((example) => example?.['x-given'] ?? [])
    const headers = shown.map(([header, { value }]): [string, string] => [header, String(value)])
    return { status, headers, value: body?.value, given }
  }
  throw new Error(`no answer of ${operation.operationId} has the example ${name}`)
}

const bodyText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

const givenNote = (steps: GivenStep[]): Html => {
  if (steps.length === 0) return html``
  const shown = steps.map(({ method, path }, i) => [i === 0 ? '' : ', then ', html`<code>${method} ${path}</code>`])
  return html`<p>After ${shown}.</p>`
}

const exampleView = (
  document: OpenApiDocument,
  operation: OperationObject,
  sample: CodeSample,
  index: number,
): Html => {
  const { status, headers, value, given } = answerOf(document, operation, operation['x-sample-examples']![index]!)
  const headerLines = headers.map(([name, header]) => `${name}: ${header}\n`).join('')
  const body = value === undefined ? '' : bodyText(value)
  const text = [headerLines, body].filter((part) => part !== '').join('\n')
  const bad = Number(status) >= 400 ? ' bad' : ''
  const kept = html`<summary>${sample.label}<span class="status${bad}">${status}</span></summary>
${givenNote(given)}<div class="paste"><pre>${sample.source}</pre></div>
<pre>${text}</pre>`
  return index === 0
    ? html`<details class="example" open>${kept}</details>`
    : html`<details class="example">${kept}</details>`
}

export const operationView = (document: OpenApiDocument, entry: Entry): Html => {
  const { method, path, operation } = entry
  const samples = operation['x-codeSamples'] ?? []
  return html`
<section class="operation" id="${operation.operationId}">
<h3>${operation.summary}</h3>
<p class="route"><span class="method ${method}">${method.toUpperCase()}</span><code>${path}</code><span class="key">${keyOf(operation)}</span></p>
${markdown(operation.description)}
${parameterList(document, entry)}
${bodyView(document, entry)}
${answerList(document, entry)}
<h4>Examples</h4>
${samples.map((sample, i) => exampleView(document, operation, sample, i))}
</section>`
}
