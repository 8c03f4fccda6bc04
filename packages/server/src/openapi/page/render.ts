import { titleOf } from '../operations.ts'
import type { OpenApiDocument } from '../types.ts'
import { type Entry, entriesOf } from './entries.ts'
import { errorsView } from './errors-view.ts'
import { codeViews, responseView } from './example-view.ts'
import { Html, html } from './html.ts'
import { inline, markdown, topicsOf } from './markdown.ts'
import { operationView } from './operation-view.ts'
import { schemaView } from './schema-view.ts'
import { bundleScript } from './script.ts'
import { style } from './sources.js'
import { tryItJson } from './try-it-data.ts'

const mark = new Html(
  '<svg class="mark" viewBox="0 0 16 16" width="20" height="20" aria-hidden="true"><path fill="currentColor" d="M3 1h10a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H3a2 2 0 0 1-2-2V3a2 2 0 0 1 2-2z"/><path fill="var(--on-accent)" d="M3.5 3.5h4v4h-4zM8.5 3.5h4v4h-4zM3.5 8.5h4v4h-4z"/></svg>',
)

const bar = ({ info }: OpenApiDocument): Html => html`
<header class="bar">
<button type="button" class="quiet menu" popovertarget="contents">Contents</button>
<a class="brand" href="#top">${mark}<b>${info.title}</b> <span>HTTP API ${info.version}</span></a>
<button type="button" class="open-search" data-search hidden aria-keyshortcuts="/ Control+K">Search <kbd>/</kbd></button>
<a class="quiet-link" href="openapi.json">OpenAPI</a>
</header>`

const contentsLine = (id: string, title: string): Html => html`<li><a href="#${id}">${title}</a></li>`

const contentsEntry = ({ method, operation: { operationId, summary } }: Entry): Html => html`
<li><a href="#${operationId}">${titleOf(operationId, summary)} <span class="method ${method}">${method.toUpperCase()}</span></a></li>`

const contentsGroup = (title: string, items: Html[]): Html => html`<p class="title">${title}</p><ul>${items}</ul>`

/** A column on a wide screen, a sheet behind a button on a small one. The button needs no script. */
const contentsView = (document: OpenApiDocument, entries: Entry[]): Html => html`
<nav id="contents" popover aria-label="Contents">
<button type="button" class="quiet close" popovertarget="contents" popovertargetaction="hide">Close</button>
${contentsGroup('Overview', [contentsLine('top', 'Start'), ...topicsOf(document.info.description).topics.map(({ id, title }) => contentsLine(id, title))])}
${document.tags.map(({ name }) =>
  contentsGroup(name, entries.filter((entry) => entry.operation.tags.includes(name)).map(contentsEntry)),
)}
${contentsGroup('Reference', [contentsLine('error-codes', 'Error codes'), contentsLine('schemas', 'Schemas')])}
</nav>`

// ── Sections ───────────────────────────────────────────────────────────────────────────────────────────────

/** The script replaces it with the address of the page. */
const baseOf = ({ servers }: OpenApiDocument): string =>
  servers[0]!.url === '/' ? 'http://127.0.0.1:4600' : servers[0]!.url

const setup = (base: string) => ({
  curl: `export CUBBY_URL=${base}
export CUBBY_KEY=svc_live_…

curl "$CUBBY_URL/v1" \\
  -H "Authorization: Bearer $CUBBY_KEY"`,
  typescript: `import { Cubby } from '@cubbydb/client'

const cubby = new Cubby({
  url: process.env.CUBBY_URL!,
  key: process.env.CUBBY_KEY!,
})
console.log(await cubby.databases())`,
  python: `import os

import requests

answer = requests.get(
    os.environ["CUBBY_URL"] + "/v1",
    headers={"Authorization": f"Bearer {os.environ['CUBBY_KEY']}"},
)
print(answer.json())`,
})

const overview = (document: OpenApiDocument): Html => {
  const { info } = document
  const base = baseOf(document)
  return html`
<section class="columns" id="top" data-find="topic">
<div class="text">
<h1>${info.title}</h1>
<p class="lead">${info.summary}</p>
${markdown(topicsOf(info.description).lead)}
<p>The examples read the address of the server and the API key from the environment: set <code>CUBBY_URL</code> to <code data-base>${base}</code>, and <code>CUBBY_KEY</code>. Those in TypeScript use the client, <code>@cubbydb/client</code>, where it has a method for the request, and otherwise <code>fetch</code>; those in Python use <code>requests</code>.</p>
</div>
<div class="examples" data-setup>
<div class="request">${codeViews(setup(base))}</div>
</div>
</section>`
}

const headersView = (label: string, lines: string): Html =>
  html`<div class="request"><p class="label">${label}</p><pre>${lines}</pre></div>`

/** Illustrations of topics, shown beside them. */
const illustrations = ({ components }: OpenApiDocument): Record<string, Html> => ({
  'api-keys': headersView('Request with a key', 'Authorization: Bearer svc_live_…'),
  answers: headersView(
    'Headers of an answer',
    'Content-Type: application/json\nCache-Control: private, no-cache\nX-Request-Id: HJ4c9fQ2-1z',
  ),
  errors: responseView({ status: 400, response: components.examples.invalid_request!.value }),
  'versions-of-a-record': headersView(
    'Answer, then a write that needs this version',
    'ETag: "1767780000000"\n\nIf-Match: "1767780000000"',
  ),
})

const topics = (document: OpenApiDocument): Html[] => {
  const shown = illustrations(document)
  return topicsOf(document.info.description).topics.map(
    ({ id, title, text }) => html`
<section class="columns" id="${id}" data-find="topic"><div class="topic"><h2><a href="#${id}">${title}</a></h2>
${markdown(text)}</div>${shown[id] === undefined ? '' : html`<div class="beside">${shown[id]}</div>`}</section>`,
  )
}

const schemaList = (document: OpenApiDocument): Html => html`
<section class="topic" id="schemas" data-group="Schemas"><h2><a href="#schemas">Schemas</a></h2>
<p>Requests must not have other members than these; answers may have more in later versions.</p>
${Object.entries(document.components.schemas).map(
  ([name, schema]) => html`
<section class="schema" id="schema-${name}" data-find="schema"><h3><a href="#schema-${name}">${name}</a></h3>
${schema.description === undefined ? '' : html`<p>${inline(schema.description)}</p>`}
${schemaView(document, name, `schema-${name}`)}</section>`,
)}</section>`

const group = (document: OpenApiDocument, entries: Entry[], name: string, description: string): Html => html`
<section class="group" data-group="${name}"><h2>${name}</h2><p>${inline(description)}</p>
${entries.filter(({ operation }) => operation.tags.includes(name)).map((entry) => operationView(document, entry))}
</section>`

// ── The page ───────────────────────────────────────────────────────────────────────────────────────────────

// A letter C on a plain background, inlined: the page fetches nothing.
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230a6b66' d='M3 1h10a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H3a2 2 0 0 1-2-2V3a2 2 0 0 1 2-2z'/%3E%3Cpath fill='%23fff' d='M3.5 3.5h4v4h-4zM8.5 3.5h4v4h-4zM3.5 8.5h4v4h-4z'/%3E%3C/svg%3E"

const hashOf = (text: string): string => `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`

/** The page may load nothing and send only to this server; its own style and script are allowed by their hashes. */
const policyFor = (script: string): string =>
  [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

interface RenderedPage {
  html: string
  contentSecurityPolicy: string
}

/** One self-contained page, generated from the document and the examples in it. */
export const renderPage = async (document: OpenApiDocument): Promise<RenderedPage> => {
  const entries = entriesOf(document)
  const script = await bundleScript()
  const { info, tags } = document
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} HTTP API</title>
<link rel="icon" href="${new Html(icon)}">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${bar(document)}
<div class="layout">
${contentsView(document, entries)}
<main id="main" tabindex="-1">
${overview(document)}
${topics(document)}
${tags.map(({ name, description }) => group(document, entries, name, description))}
${errorsView(document)}
${schemaList(document)}
</main>
</div>
<script type="application/json" id="operations">${new Html(tryItJson(document, entries))}</script>
<script>${new Html(script)}</script>
</body>
</html>
`
  return { html: page.text, contentSecurityPolicy: policyFor(script) }
}
