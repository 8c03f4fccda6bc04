import { markedText } from './marked-text.ts'
import { describeTableTool } from './tools/tables.ts'
import type { ToolCall } from './tools/tool.ts'

// Resources that an agent can read beside its tools: the documentation as Markdown, and the shape of each table.

export const pageNames = ['api', 'errors', 'queries', 'skill'] as const
export type PageName = (typeof pageNames)[number]

/** The text of a page, with the address at which the caller reached the server. */
export type ReadPage = (name: PageName, baseUrl: string) => string

const titles: Record<PageName, string> = {
  api: 'The HTTP API: every request, limits, guarantees',
  errors: 'Every error code: what it means and what to do',
  queries: 'Keys, indices and queries: how to model data',
  skill: 'How to use Cubby over HTTP, in short',
}

/** No authority: a database cannot have the name of a page. */
const uriOf = (name: PageName): string => `cubby:///${name}.md`

export const resourceListJson = JSON.stringify(
  pageNames.map((name) => ({ uri: uriOf(name), name, description: titles[name], mimeType: 'text/markdown' })),
)

export const templateListJson = JSON.stringify([
  {
    uriTemplate: 'cubby://{db}/{table}',
    name: 'table',
    description: 'The indices of a table and the fields of its newest records',
    mimeType: 'text/plain',
  },
])

export const findPage = (uri: string): PageName | undefined => pageNames.find((name) => uriOf(name) === uri)

export const contentsJson = (uri: string, mimeType: string, text: string): string =>
  JSON.stringify([{ uri, mimeType, text }])

/** The names in the URI of a table. */
export const tableOf = (uri: string): { db: string; table: string } | undefined => {
  const [, db, table] = /^cubby:\/\/([a-z0-9_-]+)\/([a-z0-9_-]+)$/.exec(uri) ?? []
  return db === undefined ? undefined : { db, table: table! }
}

/** Returns the output of `describe_table`, as that tool returns it. */
export const readTable = async (call: ToolCall): Promise<string> => markedText(await describeTableTool.run(call))
