import { type CurlRequest, curlLine } from '../curl.ts'
import type { HttpExample } from '../examples/http-example.ts'
import type { WrittenCall } from './client-call.ts'
import { literal, python, Source, typescript } from './literal.ts'

/** The parts of the response that a sample prints. */
type Shown = 'json' | 'text' | 'headers'

const shownOf = ({ response }: HttpExample): Shown => {
  if (response === undefined) return 'headers'
  return typeof response === 'string' ? 'text' : 'json'
}

// ── TypeScript ─────────────────────────────────────────────────────────────────────────────────────────────

const printedInTypeScript: Record<Shown, string> = {
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
console.log(answer.status, ${printedInTypeScript[shown]})`
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

/** Uses our client if it has a method for the request, otherwise `fetch`. */
const typescriptSample = (request: CurlRequest, example: HttpExample): string => {
  const shown = shownOf(example)
  return example.client && shown === 'json' ? clientSample(example.client) : fetchSample(request, shown)
}

// ── Python ─────────────────────────────────────────────────────────────────────────────────────────────────

const printedInPython: Record<Shown, string> = {
  json: 'answer.json()',
  text: 'answer.text',
  headers: 'dict(answer.headers)',
}

const pythonKeyHeader = { Authorization: new Source(`f"Bearer {os.environ['CUBBY_KEY']}"`) }

/** Uses `requests`, which nearly every Python programmer knows. */
const pythonSample = ({ method, target, headers, body, bytes, withKey }: CurlRequest, shown: Shown): string => {
  const sent = { ...(withKey && pythonKeyHeader), ...headers }
  const given = [`os.environ["CUBBY_URL"] + ${literal(target, python)}`]
  if (Object.keys(sent).length > 0) given.push(`headers=${literal(sent, python, 1, 8)}`)
  if (body !== undefined) given.push(`json=${literal(body, python, 1, 5)}`)
  if (bytes !== undefined) given.push(`data=${literal(bytes, python, 1, 5)}`)
  const call = `requests.${method.toLowerCase()}`
  const inline = `answer = ${call}(${given.join(', ')})`
  const request =
    inline.length <= 72 && !inline.includes('\n') ? inline : `answer = ${call}(\n    ${given.join(',\n    ')},\n)`
  return `import os

import requests

${request}
print(answer.status_code, ${printedInPython[shown]})`
}

// ── All of them ────────────────────────────────────────────────────────────────────────────────────────────

export const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const
export type Language = keyof typeof languages

/** The request of an example in every language. */
export const samplesOf = (request: CurlRequest, example: HttpExample): Record<Language, string> => ({
  curl: curlLine(request),
  typescript: typescriptSample(request, example),
  python: pythonSample(request, shownOf(example)),
})
