import { errorCodes } from '../../core/error-codes.ts'
import { statusOf } from '../../http/status.ts'
import { meanings } from '../errors.ts'
import type { OpenApiDocument } from '../types.ts'
import { type Entry, entriesOf } from './entries.ts'
import { Html, html } from './html.ts'
import { headingsOf, inline, markdown } from './markdown.ts'
import { operationView } from './operation-view.ts'
import { schemaView } from './schema-view.ts'
import { script } from './script.ts'
import { style } from './style.ts'

const contents = (document: OpenApiDocument, entries: Entry[]): Html => {
  const plain = (id: string, title: string) => html`<li class="plain"><a href="#${id}">${title}</a></li>`
  const group = (title: string, items: Html[]) => html`<div class="group"><h2>${title}</h2><ul>${items}</ul></div>`
  const operationItem = ({ method, path, operation }: Entry) => html`
<li data-words="${path}"><a href="#${operation.operationId}"><span class="method ${method}">${method.toUpperCase()}</span><span>${operation.summary}</span></a></li>`
  return html`
<nav aria-label="Contents"><details open><summary>Contents</summary>
${group('Overview', [plain('top', 'Try it'), ...headingsOf(document.info.description).map(({ id, title }) => plain(id, title))])}
${document.tags.map(({ name }) =>
  group(name, entries.filter(({ operation }) => operation.tags.includes(name)).map(operationItem)),
)}
${group('Reference', [plain('error-codes', 'Error codes'), plain('schemas', 'Schemas')])}
</details></nav>`
}

const overview = ({ info }: OpenApiDocument): Html => html`
<section id="top">
<h1>${info.title} <small>${info.version}</small></h1>
<p class="lead">${info.summary}</p>
<p>To paste the examples below into a shell, first set the address of the server and the API key. The same description as OpenAPI: <a href="openapi.json">openapi.json</a>.</p>
<div class="setup paste"><pre>export CUBBY_URL=<span data-base>http://127.0.0.1:4600</span>
export CUBBY_KEY=svc_live_…</pre></div>
${markdown(info.description)}
</section>`

const errorList = (): Html => html`
<section><h2 id="error-codes">Error codes</h2>
<dl class="fields">${errorCodes.map(
  (name) => html`
<div id="error-${name}"><dt><code>${name}</code><small>${statusOf[name]}</small></dt><dd><p>${inline(meanings[name])}</p></dd></div>`,
)}</dl></section>`

const schemaList = (document: OpenApiDocument): Html => html`
<section><h2 id="schemas">Schemas</h2>
<p>Requests must not have other members than these; answers may have more in later versions.</p>
${Object.entries(document.components.schemas).map(
  ([name, schema]) => html`
<section class="operation" id="schema-${name}"><h3>${name}</h3>
<p>${inline(schema.description ?? '')}</p>
${schemaView(document, name)}</section>`,
)}</section>`

// A letter C on a plain background, inlined: the page fetches nothing.
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3' fill='%230a58ca'/%3E%3Cpath d='M11 5.5A4 4 0 1 0 11 10.5' fill='none' stroke='white' stroke-width='2'/%3E%3C/svg%3E"

/** One self-contained page, generated from the document alone. */
export const renderPage = (document: OpenApiDocument): string => {
  const entries = entriesOf(document)
  const sections = document.tags.map(
    ({ name, description }) => html`
<section><h2>${name}</h2><p>${inline(description)}</p>
${entries.filter(({ operation }) => operation.tags.includes(name)).map((entry) => operationView(document, entry))}
</section>`,
  )
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} HTTP API</title>
<link rel="icon" href="${new Html(icon)}">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<div class="layout">
${contents(document, entries)}
<main id="main">
${overview(document)}
${sections}
${errorList()}
${schemaList(document)}
</main>
</div>
<script>${new Html(script)}</script>
</body>
</html>
`.text
}

const hashOf = (text: string): string => `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`

/** The page may not load, send or be framed; its own style and script are allowed by their hashes. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src ${hashOf(style)}`,
  `script-src ${hashOf(script)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
