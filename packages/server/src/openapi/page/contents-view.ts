import type { OpenApiDocument } from '../types.ts'
import type { Entry } from './entries.ts'
import { type Html, html } from './html.ts'
import { topicsOf } from './markdown.ts'

const plain = (id: string, title: string): Html => html`<li><a href="#${id}">${title}</a></li>`

/** Each fits into one line: the list is read at a glance. */
export const titles: Record<string, string> = {
  listTables: 'List tables',
  describeTable: 'Show a table',
  createTable: 'Create a table',
  deleteTable: 'Delete a table',
  restoreTable: 'Restore a table',
  putRecord: 'Put a record',
  getRecord: 'Get a record',
  headRecord: 'Check a record',
  deleteRecord: 'Delete a record',
  getRecordWithRangeKey: 'Get, with range key',
  headRecordWithRangeKey: 'Check, with range key',
  deleteRecordWithRangeKey: 'Delete, with range key',
  queryRecords: 'Query records',
  findRecords: 'Get several records',
  applyBatch: 'Batch',
  getItem: 'Get an item',
  headItem: 'Check an item',
  putItem: 'Put an item',
  deleteItem: 'Delete an item',
  listBuckets: 'List buckets',
  describeBucket: 'Show a bucket',
  createBucket: 'Create a bucket',
  deleteBucket: 'Delete a bucket',
  restoreBucket: 'Restore a bucket',
  getFile: 'Get a file',
  putFile: 'Put a file',
  changeFile: 'Change a file',
  deleteFile: 'Delete a file',
  getFileUrl: 'Get a URL of a file',
  queryFiles: 'List files',
  readFileByUrl: 'Get by URL',
  headFileByUrl: 'Check by URL',
  putFileByUrl: 'Upload to a URL',
  listTasks: 'List tasks',
  describeTask: 'Show a task',
  declareTask: 'Declare a task',
  deleteTask: 'Delete a task',
  restoreTask: 'Restore a task',
  createTaskSecret: 'Create a secret',
  runTask: 'Add a run',
  getRun: 'Get a run',
  queryRuns: 'List runs',
  claimRuns: 'Claim runs',
  extendRun: 'Extend a lease',
  finishRun: 'Finish an attempt',
  cancelRun: 'Cancel a run',
  retryRun: 'Retry a run',
  applyTaskBatch: 'Batch of runs',
  listApiKeys: 'List API keys',
  describeOwnApiKey: 'Describe the calling key',
  revokeApiKey: 'Revoke an API key',
  preflight: 'Preflight',
  checkHealth: 'Is it alive?',
  checkReadiness: 'Is it ready?',
  getDescription: 'OpenAPI document',
  getDocsPage: 'This page',
  getDocsText: 'Manual as Markdown',
  getSkill: 'Skill for agents',
  getSkillIndex: 'Index of skills',
  getLlmsText: 'Pages for agents',
}

const operation = ({ method, operation: { operationId, summary } }: Entry): Html => html`
<li><a href="#${operationId}">${titles[operationId] ?? summary} <span class="method ${method}">${method.toUpperCase()}</span></a></li>`

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
