import { errorCodes } from '../../core/error-codes.ts'
import { type Html, html } from './html.ts'

// The part of Markdown that our descriptions use: paragraphs, lists, headings of one level, code.

const codes = new Set<string>(errorCodes)

/** Longer code may be broken at the end of a line. */
const unbrokenCharactersMax = 28

/** Inline code. An error code becomes a link to its meaning. */
export const code = (text: string): Html => {
  if (codes.has(text)) return html`<a href="#error-${text}"><code>${text}</code></a>`
  return text.length > unbrokenCharactersMax ? html`<code class="long">${text}</code>` : html`<code>${text}</code>`
}

export const inline = (text: string): Html =>
  html`${text.split('`').map((part, i) => (i % 2 === 1 ? code(part) : part))}`

const block = (text: string): Html => {
  if (!text.startsWith('- ')) return html`<p>${inline(text)}</p>`
  return html`<ul>${text.split('\n').map((line) => html`<li>${inline(line.slice(2))}</li>`)}</ul>`
}

/** Renders text without headings. */
export const markdown = (text: string): Html => html`${text.trim().split('\n\n').map(block)}`

interface Topic {
  /** The id that links use. */
  id: string
  title: string
  text: string
}

/** Returns the text before the first heading, and the text below each. */
export const topicsOf = (text: string): { lead: string; topics: Topic[] } => {
  const [lead, ...rest] = text.split(/^## /m)
  const topics = rest.map((part) => {
    const [title, ...lines] = part.split('\n')
    return { id: title!.toLowerCase().replaceAll(' ', '-'), title: title!, text: lines.join('\n') }
  })
  return { lead: lead!, topics }
}
