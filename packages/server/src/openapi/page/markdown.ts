import { errorCodes } from '../../core/error-codes.ts'
import { type Html, html } from './html.ts'

// The part of Markdown that our descriptions use: paragraphs, lists, headings of one level, code.

const codes = new Set<string>(errorCodes)

/** Inline code. An error code becomes a link to its meaning. */
export const code = (text: string): Html =>
  codes.has(text) ? html`<a href="#error-${text}"><code>${text}</code></a>` : html`<code>${text}</code>`

export const inline = (text: string): Html =>
  html`${text.split('`').map((part, i) => (i % 2 === 1 ? code(part) : part))}`

const anchor = (heading: string): string => heading.toLowerCase().replaceAll(' ', '-')

const block = (text: string): Html => {
  if (text.startsWith('## ')) return html`<h3 id="${anchor(text.slice(3))}">${text.slice(3)}</h3>`
  if (!text.startsWith('- ')) return html`<p>${inline(text)}</p>`
  return html`<ul>${text.split('\n').map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`
}

export const markdown = (text: string): Html => html`${text.trim().split('\n\n').map(block)}`

/** The headings, for a table of contents. */
export const headingsOf = (text: string): { id: string; title: string }[] =>
  Array.from(text.matchAll(/^## (.+)$/gm), ([, title]) => ({ id: anchor(title!), title: title! }))
