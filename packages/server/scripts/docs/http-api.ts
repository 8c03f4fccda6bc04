import { STATUS_CODES as reasons } from 'node:http'
import { errorCodes } from '../../src/core/error-codes.ts'
import { consolePath } from '../../src/http/console-endpoint.ts'
import { mcpPath } from '../../src/http/mcp-endpoint.ts'
import { respondPreflight } from '../../src/http/respond.ts'
import { makeDocument } from '../../src/openapi/document.ts'
import { tags } from '../../src/openapi/operations.ts'
import { type Entry, entriesOf, parametersOf, resolve } from '../../src/openapi/page/entries.ts'
import { schemaName } from '../../src/openapi/page/schema-view.ts'
import type { Parameter, ResponseObject } from '../../src/openapi/types.ts'
import { findOperation } from '../../src/operations/catalogue.ts'
import type { Schema } from '../../src/operations/schema.ts'
import { anchorOf, code, httpBlock, partsOf, printJson, replaceParts, table } from './markdown.ts'
import { membersText, SchemaTables } from './schema-tables.ts'

// The generated parts of docs/http-api.md. A part begins with a comment that names operations or chapters of the catalogue,
// and ends with another one. Text outside of the parts is written by hand.

export const document = makeDocument('http://127.0.0.1:4600')

/** An operation with a section of its own. */
interface Section {
  id: string
  tag: string
  /** `GET /v1/:db/:table/:hashKey`. */
  route: string
  entry: Entry
  /** The same with a range key. */
  withRangeKey?: Entry
}

const routeOf = ({ method, path }: Entry): string =>
  `${method.toUpperCase()} ${path
    .replace('{bucketId}', '<bucket id>')
    .replace(/^(\/files\/.*)\{name\}$/, '$1<name>')
    .replaceAll(/\{(\w+)\}/g, ':$1')}`

/** HEAD is like GET everywhere, and OPTIONS is the same at every path: the page says so once. */
const hasSection = ({ method }: Entry): boolean => method !== 'head' && method !== 'options'

const rangeKeyEnd = 'WithRangeKey'

const sections: Section[] = entriesOf(document)
  .filter((entry) => hasSection(entry) && !entry.operation.operationId.endsWith(rangeKeyEnd))
  .map((entry) => {
    const { operationId: id, tags } = entry.operation
    const withRangeKey = entriesOf(document).find(({ operation }) => operation.operationId === id + rangeKeyEnd)
    return { id, tag: tags[0]!, route: routeOf(entry), entry, withRangeKey }
  })

// ── Codes ──────────────────────────────────────────────────────────────────────────────────────────────────

const responsesOf = ({ operation }: Entry): [string, ResponseObject][] =>
  Object.entries(operation.responses).map(([status, response]) => [status, resolve(document, response)])

const codesOf = (entry: Entry): string[] =>
  responsesOf(entry).flatMap(([, response]) => response['x-error-codes'] ?? [])

/** Routes that have codes in common. */
const needsSecret = ({ entry: { operation } }: Section): boolean =>
  operation.security.length > 0 && !operation.security.some((scheme) => 'publicKey' in scheme)

const groups: { name: string; has(section: Section): boolean }[] = [
  { name: 'every route', has: () => true },
  { name: 'below `/v1` and `/api`', has: ({ entry }) => entry.operation.security.length > 0 },
  { name: 'with a database in the path', has: ({ route }) => /:(db|collection)\b/.test(route) },
  { name: 'with a JSON body', has: ({ entry }) => 'application/json' in (entry.operation.requestBody?.content ?? {}) },
  { name: 'for secret keys only', has: needsSecret },
  {
    name: 'for secret keys only, other than `GET`',
    has: (section) => needsSecret(section) && section.entry.method !== 'get',
  },
]

/** The codes that all routes of a group have, unless an earlier group has them. */
const commonCodes = new Map<(typeof groups)[number], string[]>()
for (const group of groups) {
  const members = sections.filter((section) => group.has(section))
  const earlier = [...commonCodes.values()].flat()
  const codes = errorCodes.filter((name) => members.every(({ entry }) => codesOf(entry).includes(name)))
  commonCodes.set(
    group,
    codes.filter((name) => !earlier.includes(name)),
  )
}

const codesTable = (): string =>
  table(
    ['routes', 'codes'],
    groups.map((group) => [group.name, commonCodes.get(group)!.map(code).join(', ')]),
  )

const ownCodes = (section: Section): string[] => {
  const common = groups.filter((group) => group.has(section)).flatMap((group) => commonCodes.get(group)!)
  return codesOf(section.entry).filter((name) => !common.includes(name))
}

// ── Sections ───────────────────────────────────────────────────────────────────────────────────────────────

const keyOf = (section: Section): string => {
  const { entry } = section
  const { security, operationId } = entry.operation
  if (security.length === 0) return 'none'
  if (!needsSecret(section)) return 'any'
  return findOperation(operationId)?.keyNeeded === 'manage-keys' ? 'secret, unlimited' : 'secret'
}

const keySentence: Record<string, string> = {
  none: 'It needs no key.',
  any: 'Any key may use it.',
  secret: 'It needs a secret key.',
  'secret, unlimited': 'It needs a secret key that is not limited to databases.',
}

const anchorOfSection = ({ route }: Section): string => anchorOf(route)

const jsonSchemaOf = (content: Record<string, { schema: Schema }> | undefined): string | undefined => {
  const schema = content?.['application/json']?.schema
  const named = schema === undefined ? undefined : (schema.anyOf?.[0] ?? schema)
  return named && schemaName(named)
}

/** The request of an example and its response. */
export const exampleText = (id: string, name: string): string => {
  const entry = entriesOf(document).find(
    ({ operation, samples }) =>
      operation.operationId.replace(rangeKeyEnd, '') === id && samples.some(({ example }) => example.name === name),
  )
  if (entry === undefined) throw new Error(`docs/http-api.md: ${id} has no example ${name}`)
  const { example, request } = entry.samples.find((sample) => sample.example.name === name)!
  const { method, target, headers, body, bytes, withKey } = request
  const first = `${withKey || method === 'OPTIONS' ? '' : '# without an Authorization header\n'}${method} ${target}`
  const sent = httpBlock(first, headers, bytes ?? (body === undefined ? undefined : printJson(body)))
  const { status, response } = example
  const came =
    typeof response === 'object' ? printJson(response).replace(/"requestId": "[^"]*"/, '"requestId": "…"') : undefined
  return `${sent}\n\n${httpBlock(`HTTP/1.1 ${status} ${reasons[status]}`, example.headers ?? {}, came)}`
}

/** Query parameters and headers. What another section says about one is not said again. */
const parametersText = ({ entry, route }: Section, tables: SchemaTables): string => {
  const all = parametersOf(document, entry).filter((parameter) => parameter.in !== 'path')
  const known = Map.groupBy(all, (parameter) => tables.sectionOf(JSON.stringify(withoutExamples(parameter)), route))
  const rows = (known.get(undefined) ?? []).map(({ name, in: parameterIn, schema, required = false, description }) => {
    const [member, type, text] = tables.row(name, schema, required, true, description)
    return [member!, parameterIn === 'query' ? `query, ${type}` : 'header', text!]
  })
  known.delete(undefined)
  const elsewhere = [...known].map(
    ([other, same]) => `${same.map(({ name }) => code(name)).join(', ')} as in [${code(other!)}](#${anchorOf(other!)})`,
  )
  if (all.length === 0) return ''
  if (elsewhere.length === 0) return `Parameters:${membersText(rows, 'parameter')}`
  return `Parameters: ${elsewhere.join(', ')}${rows.length === 0 ? '.' : `, and:${membersText(rows, 'parameter')}`}`
}

const withoutExamples = ({ name, in: parameterIn, description, schema }: Parameter) => ({
  name,
  place: parameterIn,
  description,
  schema,
})

const sectionText = (section: Section, tables: SchemaTables): string => {
  const { entry, withRangeKey, route, id } = section
  const { summary, description, requestBody } = entry.operation
  tables.begin(anchorOfSection(section))
  const parts = [`### ${code(route)}`]
  const title = summary.replace(/ without a range key$/, '')
  const also = withRangeKey === undefined ? '' : ` For a record with a range key: ${code(routeOf(withRangeKey))}.`
  parts.push(`**${title.endsWith('?') ? title : `${title}.`}** ${keySentence[keyOf(section)]} ${description}${also}`)

  const parameters = parametersText(section, tables)
  if (parameters !== '') parts.push(parameters)

  const body = jsonSchemaOf(requestBody?.content)
  if (body !== undefined) parts.push(...tables.show(body))

  const succeeded = responsesOf(entry).filter(([status]) => Number(status) < 400)
  const isNew = succeeded.some(([, { content }]) => {
    const name = jsonSchemaOf(content)
    return name !== undefined && !tables.isShown(name)
  })
  // A list of what another route shows.
  const isListing =
    entry.method === 'get' && succeeded.some(([, { content }]) => jsonSchemaOf(content)?.endsWith('List'))
  const schemaTexts = succeeded.flatMap(([, { content }]) => {
    const name = jsonSchemaOf(content)
    return name === undefined ? [] : tables.show(name)
  })
  const lines = succeeded.map(([status, response]) => {
    const name = jsonSchemaOf(response.content)
    const of = name === undefined ? '' : ` ${tables.link(name)}.`
    return `**${status}**: ${response.description}${of}`
  })
  const codes = ownCodes(section)
  if (codes.length > 0) lines.push(`Errors: ${codes.map(code).join(', ')}.`)
  parts.push(lines.join(' '), ...schemaTexts)

  if (isNew && !isListing) parts.push(exampleText(id, exampleOf(section)))
  return parts.join('\n\n')
}

/** The first that succeeds, preferably with a body in the answer; the first of all if an API key alone never succeeds. */
const exampleOf = ({ entry, withRangeKey }: Section): string => {
  const all = [...entry.samples, ...(withRangeKey?.samples ?? [])]
  const samples = all.filter(({ example }) => example.status < 300)
  return (samples.find(({ example }) => example.response !== undefined) ?? samples[0] ?? all[0])!.example.name
}

// ── The table of routes ────────────────────────────────────────────────────────────────────────────────────

const routesTable = (): string => {
  const rows = sections.flatMap((section) => {
    const { entry, withRangeKey } = section
    return [entry, ...(withRangeKey === undefined ? [] : [withRangeKey])].map((one) => [
      code(routeOf(one)),
      `[${one.operation.summary}](#${anchorOfSection(section)})`,
      keyOf(section),
    ])
  })
  // Two routes that are no operations.
  rows.push([code(`GET ${consolePath}`), '[Look at your data in a browser](#console)', 'none'])
  rows.push([code(`POST ${mcpPath}`), '[Use the tools for agents](#agents)', 'any'])
  return table(['route', 'what it does', 'key'], rows)
}

/** The headers that let pages of other origins read the API. */
const browsersTable = (): string =>
  table(
    ['header of the response to `OPTIONS`', ''],
    Array.from(respondPreflight('').headers)
      .filter(([name]) => name.startsWith('access-control-'))
      .map(([name, value]) => [code(name), code(value)]),
  )

// ── The page ───────────────────────────────────────────────────────────────────────────────────────────────

/** The page with its generated parts made anew. */
export const withGeneratedParts = (page: string): string => {
  const tables = new SchemaTables(document)
  const parts = partsOf(page)
  const named = new Set(parts.flatMap((names) => names.split(' ')))
  const placed = new Set<string>()
  /** The sections that a word of a comment means: an operation, or the rest of a chapter. */
  const sectionsOf = (word: string): Section[] => {
    const chapter = word.replaceAll('-', ' ')
    const found = sections.filter(({ id, tag }) => id === word || (tag === chapter && !named.has(id)))
    if (found.length === 0 && !(chapter in tags))
      throw new Error(`docs/http-api.md: no operation and no chapter is called ${word}`)
    return found
  }
  const text = (names: string): string => {
    if (names === 'routes') return routesTable()
    if (names === 'codes') return codesTable()
    if (names === 'browsers') return browsersTable()
    const example = /^(\w+)\.(\w+)$/.exec(names)
    if (example !== null) return exampleText(example[1]!, example[2]!)
    return names
      .split(' ')
      .flatMap(sectionsOf)
      .map((section) => {
        placed.add(section.id)
        return sectionText(section, tables)
      })
      .join('\n\n')
  }
  // A batch has operations of other routes: it refers to their sections, also to those behind it.
  const inOrder = parts.toSorted((a, b) => Number(a === 'applyBatch') - Number(b === 'applyBatch'))
  const texts = new Map(inOrder.map((names) => [names, text(names)]))
  const absent = sections.filter(({ id }) => !placed.has(id)).map(({ id, tag }) => `${id} (${tag})`)
  if (absent.length > 0) throw new Error(`docs/http-api.md has no part for ${absent.join(', ')}`)
  return replaceParts(page, (names) => texts.get(names)!)
}
