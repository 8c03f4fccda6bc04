import { titleOf } from '../operations.ts'
import type { OpenApiDocument } from '../types.ts'
import type { Entry } from './entries.ts'
import { type Html, html } from './html.ts'
import { topicsOf } from './markdown.ts'

const plain = (id: string, title: string): Html => html`<li><a href="#${id}">${title}</a></li>`

const operation = ({ method, operation: { operationId, summary } }: Entry): Html => html`
<li><a href="#${operationId}">${titleOf(operationId, summary)} <span class="method ${method}">${method.toUpperCase()}</span></a></li>`

const group = (title: string, items: Html[]): Html => html`<p class="title">${title}</p><ul>${items}</ul>`

/** A column on a wide screen, a sheet behind a button on a small one. The button needs no script. */
export const contentsView = (document: OpenApiDocument, entries: Entry[]): Html => html`
<nav id="contents" popover aria-label="Contents">
<button type="button" class="quiet close" popovertarget="contents" popovertargetaction="hide">Close</button>
${group('Overview', [plain('top', 'Start'), ...topicsOf(document.info.description).topics.map(({ id, title }) => plain(id, title))])}
${document.tags.map(({ name }) =>
  group(name, entries.filter((entry) => entry.operation.tags.includes(name)).map(operation)),
)}
${group('Reference', [plain('error-codes', 'Error codes'), plain('schemas', 'Schemas')])}
</nav>`
