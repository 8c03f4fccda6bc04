import { errorCodes } from '../../core/error-codes.ts'
import { statusOf } from '../../http/status.ts'
import { meanings } from '../errors.ts'
import type { ExampleObject, OpenApiDocument } from '../types.ts'
import { entriesOf, resolve } from './entries.ts'
import { type Html, html } from './html.ts'
import { inline } from './markdown.ts'

interface ErrorExample {
  code: string
  message: string
  hint?: string
}

const errorIn = (value: unknown): ErrorExample[] => {
  const { error } = (value ?? {}) as { error?: ErrorExample }
  return error?.code === undefined ? [] : [error]
}

/** The first example of each code: of those that many requests share, then of the operations. */
const examplesByCode = (document: OpenApiDocument): Map<string, ErrorExample> => {
  const shared = Object.values(document.components.examples)
  const own = entriesOf(document).flatMap(({ operation }) =>
    Object.values(operation.responses).flatMap((response) => {
      const { content = {} } = resolve(document, response)
      return Object.values(content).flatMap(({ examples = {} }) => Object.values(examples) as ExampleObject[])
    }),
  )
  const errors = [...shared, ...own].flatMap(({ value }) => errorIn(value))
  return new Map(errors.reverse().map((error) => [error.code, error]))
}

const exampleView = (error: ErrorExample | undefined): Html => {
  if (error === undefined) return html``
  const hint = error.hint === undefined ? '' : html`<br>Hint: ${error.hint}`
  return html`<p class="note">For example: ${error.message}${hint}</p>`
}

/** Every code with its meaning, and a message and hint as the server sends them. */
export const errorsView = (document: OpenApiDocument): Html => {
  const examples = examplesByCode(document)
  return html`
<section class="topic" id="error-codes" data-group="Error codes"><h2><a href="#error-codes">Error codes</a></h2>
<dl class="fields">${errorCodes.map(
    (name) => html`
<div id="error-${name}" data-find="error"><dt><code>${name}</code> <span class="type">${statusOf[name]}</span></dt><dd><p>${inline(meanings[name])}</p>${exampleView(examples.get(name))}</dd></div>`,
  )}</dl></section>`
}
