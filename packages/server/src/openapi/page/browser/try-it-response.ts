import { create } from './dom.ts'
import { highlightNow } from './highlight.ts'
import { indentJson } from './json-layout.ts'
import { markScrollers } from './scrollers.ts'
import type { Received } from './send.ts'

/** Longer text would make the page slow; the rest is left out. */
const shownCharactersMax = 200_000

const bodyView = (text: string | undefined): HTMLElement => {
  if (text === undefined) return create('p', { class: 'note' }, 'The body is not text; it is not shown.')
  if (text === '') return create('p', { class: 'note' }, 'No body.')
  const whole = indentJson(text)
  const pre = create('pre', { 'data-syntax': 'json' }, whole.slice(0, shownCharactersMax))
  if (whole.length <= shownCharactersMax) return pre
  return create(
    'div',
    {},
    pre,
    create('p', { class: 'note' }, `The first ${shownCharactersMax.toLocaleString('en-US')} characters.`),
  )
}

export const responseView = ({ status, statusText, headers, text, milliseconds, bytes }: Received): HTMLElement => {
  const kind = status < 400 ? 'ok' : 'bad'
  const facts = `${Math.round(milliseconds)} ms · ${bytes.toLocaleString('en-US')} bytes`
  const list = headers.map(([name, value]) => `${name}: ${value}`).join('\n')
  const view = create(
    'div',
    {},
    create(
      'p',
      { class: 'label' },
      create('span', { class: `status ${kind}` }, `${status} ${statusText}`.trim()),
      ` ${facts}`,
    ),
    create('details', { class: 'headers' }, create('summary', {}, 'Headers'), create('pre', {}, list)),
    bodyView(text),
  )
  // The view must be in the page first.
  requestAnimationFrame(() => {
    markScrollers(view)
    for (const pre of view.querySelectorAll<HTMLElement>('pre[data-syntax]')) highlightNow(pre)
  })
  return view
}

/** The browser does not say why: the server is gone, or something between refused. */
export const failureView = (error: unknown): HTMLElement => {
  const reason = error instanceof Error ? error.message : String(error)
  return create(
    'p',
    { class: 'problem' },
    `No answer came (${reason}). Is the server running, and can this page reach it?`,
  )
}
