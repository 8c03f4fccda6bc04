import type { HttpExample } from '../examples/http-example.ts'
import { json, literal } from '../samples/literal.ts'
import { type Language, languages, samplesOf } from '../samples/sample.ts'
import type { GivenStep } from '../types.ts'
import type { Entry, Sample } from './entries.ts'
import { type Html, html } from './html.ts'

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

const statusView = (status: number): Html => html`<span class="status ${status < 400 ? 'ok' : 'bad'}">${status}</span>`

export const responseView = ({
  status,
  headers = {},
  response,
}: Pick<HttpExample, 'status' | 'headers' | 'response'>): Html => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
  const body = typeof response === 'string' ? response : response === undefined ? '' : literal(response, json)
  const text = [lines.join(''), body].filter((part) => part !== '').join('\n')
  const shown = text === '' ? html`<p class="note">No body.</p>` : html`<pre data-syntax="json">${text}</pre>`
  return html`<div class="answer"><p class="label">Answer ${statusView(status)}</p>${shown}</div>`
}

const exampleView = (operationId: string, { example, request }: Sample, first: boolean): Html => {
  const { name, summary, status, given = [] } = example
  const content = html`<summary>${summary} ${statusView(status)}</summary>
<div class="request">${givenNote(given)}${codeViews(samplesOf(request, example))}</div>
${responseView(example)}`
  const group = `${operationId}-examples`
  // The browser closes the open one of the same name.
  return first
    ? html`<details name="${group}" data-example="${name}" data-find="example" open>${content}</details>`
    : html`<details name="${group}" data-example="${name}" data-find="example">${content}</details>`
}

export const examplesView = ({ operation: { operationId }, samples }: Entry): Html => html`
<div class="examples" data-operation="${operationId}">
${samples.map((sample, i) => exampleView(operationId, sample, i === 0))}
</div>`
