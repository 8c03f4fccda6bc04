import { json, literal } from '../samples/literal.ts'
import { type Language, languages, samplesOf } from '../samples/sample.ts'
import type { Shown } from '../samples/shown.ts'
import type { ExampleObject, GivenStep, OpenApiDocument, OperationObject } from '../types.ts'
import { type NamedSample, samplesIn } from './entries.ts'
import { type Html, html } from './html.ts'
import { resolve } from './resolve.ts'

interface ShownAnswer {
  status: number
  headers: [string, string][]
  /** undefined: no body. */
  value?: unknown
  given: GivenStep[]
}

/** The answer that has an example with this name, for its body or for a header. */
export const answerOf = (document: OpenApiDocument, operation: OperationObject, name: string): ShownAnswer => {
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
    return { status: Number(status), headers, value: body?.value, given }
  }
  throw new Error(`no answer of ${operation.operationId} has the example ${name}`)
}

const shownOf = ({ value }: ShownAnswer): Shown => {
  if (value === undefined) return 'headers'
  return typeof value === 'string' ? 'text' : 'json'
}

/** The request of an example in each language. */
export const samplesFor = (
  document: OpenApiDocument,
  operation: OperationObject,
  sample: NamedSample,
): Record<Language, string> => {
  const answer = answerOf(document, operation, sample.example)
  return samplesOf(sample.curl, answer.status, shownOf(answer))
}

const givenNote = (steps: GivenStep[]): Html => {
  if (steps.length === 0) return html``
  const shown = steps.map(({ method, path }, i) => [i === 0 ? '' : ', then ', html`<code>${method} ${path}</code>`])
  return html`<p class="given">After ${shown}.</p>`
}

/** One block for each language. Without the script, all are shown with their names. */
export const codeViews = (sources: Record<Language, string>): Html =>
  html`${(Object.keys(languages) as Language[]).map(
    (language) => html`
<div class="code" data-language="${language}"><p class="label">${languages[language]}</p><pre data-syntax="${language}">${sources[language]}</pre></div>`,
  )}`

export const statusView = (status: number): Html =>
  html`<span class="status ${status < 400 ? 'ok' : 'bad'}">${status}</span>`

export const answerView = ({ status, headers, value }: ShownAnswer): Html => {
  const lines = headers.map(([name, header]) => `${name}: ${header}\n`).join('')
  const body = typeof value === 'string' ? value : value === undefined ? '' : literal(value, json)
  const text = [lines, body].filter((part) => part !== '').join('\n')
  const shown = text === '' ? html`<p class="note">No body.</p>` : html`<pre data-syntax="json">${text}</pre>`
  return html`<div class="answer"><p class="label">Answer ${statusView(status)}</p>${shown}</div>`
}

const exampleView = (
  document: OpenApiDocument,
  operation: OperationObject,
  sample: NamedSample,
  first: boolean,
): Html => {
  const answer = answerOf(document, operation, sample.example)
  const content = html`<summary>${sample.label} ${statusView(answer.status)}</summary>
<div class="request">${givenNote(answer.given)}${codeViews(samplesFor(document, operation, sample))}</div>
${answerView(answer)}`
  const name = `${operation.operationId}-examples`
  // The browser closes the open one of the same name.
  return first
    ? html`<details name="${name}" data-example="${sample.example}" data-find="example" open>${content}</details>`
    : html`<details name="${name}" data-example="${sample.example}" data-find="example">${content}</details>`
}

export const examplesView = (document: OpenApiDocument, operation: OperationObject): Html => html`
<div class="examples" data-operation="${operation.operationId}">
${samplesIn(operation).map((sample, i) => exampleView(document, operation, sample, i === 0))}
</div>`
