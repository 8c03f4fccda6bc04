import { formatJson } from '../../text/format.ts'
import { bodyOf, type ReadForm } from './query-form.ts'

// A query as text that works when it is pasted: the body of the request, and a program with the client.

type Query = Exclude<ReadForm, { fault: string }>

export const requestJson = ({ members }: Query): string => formatJson(bodyOf(members))

const literal = (json: string): string =>
  json.startsWith('"') && !/['\\]/.test(json) ? `'${json.slice(1, -1)}'` : json

/** JSON values are TypeScript values; only the names need no quotes. */
export const requestTypeScript = ({ members, range }: Query, url: string, db: string, table: string): string => {
  const rangeText = range?.map(([name, json]) => `${name}: ${json.startsWith('[') ? json : literal(json)}`).join(', ')
  const lines = members.map(([name, json]) => `  ${name}: ${name === 'range' ? `{ ${rangeText} }` : literal(json)},`)
  return `import { Cubby } from '@cubbydb/client'

const cubby = new Cubby({ url: ${literal(JSON.stringify(url))}, key: process.env.CUBBY_KEY! })
const { items, cursor } = await cubby.db(${literal(JSON.stringify(db))}).table(${literal(JSON.stringify(table))}).query({
${lines.join('\n')}
})
console.log(items, cursor)
`
}
