import type { CurlRequest } from '../curl.ts'
import type { HttpExample } from '../examples/http-example.ts'
import type { WrittenCall } from './client-call.ts'
import { literal, Source, typescript } from './literal.ts'
import { type Shown, shownOf } from './shown.ts'

const printed: Record<Shown, string> = {
  json: 'await answer.json()',
  text: 'await answer.text()',
  headers: 'Object.fromEntries(answer.headers)',
}

const fetchSample = ({ method, target, headers, body, bytes, withKey }: CurlRequest, shown: Shown): string => {
  const sent = {
    ...(withKey && { Authorization: new Source(`\`Bearer \${process.env.CUBBY_KEY}\``) }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    ...headers,
  }
  const options = {
    ...(method !== 'GET' && { method }),
    ...(Object.keys(sent).length > 0 && { headers: sent }),
    ...(bytes !== undefined && { body: bytes }),
    ...(body !== undefined && { body: new Source(`JSON.stringify(${literal(body, typescript, 1, 22)})`) }),
  }
  const url = `\`\${process.env.CUBBY_URL}${target.replaceAll('`', '%60')}\``
  const given = Object.keys(options).length === 0 ? '' : `, ${multiLine(options)}`
  return `const answer = await fetch(${url}${given})
console.log(answer.status, ${printed[shown]})`
}

/** One member a line: the address before it takes most of the first one. */
const multiLine = (options: object): string => {
  const lines = Object.entries(options).map(([name, value]) => {
    return `  ${name}: ${literal(value, typescript, 1, name.length + 2)},`
  })
  return `{\n${lines.join('\n')}\n}`
}

const clientSample = ({ setup, text, result }: WrittenCall): string => `import { Cubby } from '@cubbydb/client'

const cubby = new Cubby({
  url: process.env.CUBBY_URL!,
  key: process.env.CUBBY_KEY!,
})
${setup}
const ${result} = await ${text}
console.log(${result})`

/** With our client if it has a method for the request, otherwise with `fetch`. */
export const typescriptSample = (request: CurlRequest, example: HttpExample): string => {
  const shown = shownOf(example)
  return example.client && shown === 'json' ? clientSample(example.client) : fetchSample(request, shown)
}
