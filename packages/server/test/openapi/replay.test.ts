import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { makeDocument } from '../../src/openapi/document.ts'
import { type ApiResponse, type Json, type Organization, type Server, startServer } from '../harness.ts'
import { type Operation, operationsOf, type Scenario, scenariosOf } from './scenario.ts'
import { SchemaCheck } from './schema-check.ts'
import { Stage } from './stage.ts'

// Readers copy examples before they read descriptions. So each example is sent to a real server, and the response is compared
// with the document.

setDefaultTimeout(120_000)

let server: Server
let document: Json
let check: SchemaCheck
beforeAll(async () => {
  server = await startServer({ shared: true })
  document = (await server.request('GET', '/openapi.json')).body
  check = new SchemaCheck(document)
})
afterAll(async () => {
  await server?.stop()
})

let shared: Promise<Organization> | undefined

/** The key of an organization in which nothing is left of an earlier example that this one could see. */
const freshKey = async ({ object }: Operation): Promise<string> => {
  // Operations on tables see deleted ones and other databases. The rest need no organization each: that takes a process.
  if (object.tags.some((tag: string) => ['Tables', 'Buckets', 'Tasks'].includes(tag)))
    return (await server.createOrganization()).secretKey
  shared ??= server.createOrganization()
  const { secretKey } = await shared
  await server.as(secretKey).delete('/v1/app/orders')
  await server.as(secretKey).delete('/v1/app/_buckets/avatars')
  await server.as(secretKey).delete('/v1/app/_tasks/mail')
  await server.as(secretKey).delete('/api/issuers/auth')
  return secretKey
}

/** Brings an empty database to where the example begins. */
const prepare = async (stage: Stage, key: string, steps: Json[]): Promise<void> => {
  for (const step of steps) {
    const { method, path, answer } = step
    const came = await server.raw(method, stage.translate(path), { key, ...stage.sent(step) })
    if (came.status >= 400) throw new Error(`${method} ${path} answered ${came.text}`)
    if (answer !== undefined) stage.expectSame(answer, came.body, `${method} ${path}`)
  }
}

/** The answer is bytes, of any type. */
const isBytes = ({ response }: Scenario): boolean => Object.keys(response.content)[0] === 'application/octet-stream'

const send = (scenario: Scenario, stage: Stage, key: string): Promise<ApiResponse | Response> => {
  const { operation, target, headers, body, bytes } = scenario
  // Pages: their text is not JSON, which the harness expects.
  if (Object.keys(scenario.response.content)[0]?.startsWith('text/')) return fetch(server.url + target)
  if (isBytes(scenario)) {
    const authorization = operation.object.security.length > 0 && { authorization: `Bearer ${key}` }
    return fetch(server.url + stage.translate(target), { headers: { ...authorization, ...headers } })
  }
  return server.raw(operation.method, stage.translate(target), {
    ...(operation.object.security.length > 0 && { key }),
    headers: [
      ...Object.entries(headers).map(([name, value]): [string, string] => [name, stage.translate(value)]),
      ...(bytes === undefined ? [] : [['Content-Type', bytes.type] as [string, string]]),
    ],
    body: bytes?.text ?? stage.translateBody(body),
  })
}

const versionIn = (came: Headers): Json => ({ updatedAt: Number(JSON.parse(came.get('etag')!)) })

const expectHeaders = ({ response, answerHeaders }: Scenario, stage: Stage, came: Headers, at: string): void => {
  for (const [name, { schema, required }] of Object.entries(response.headers)) {
    const value = came.get(name)
    if (value === null && required !== true) continue
    const read = schema.type === 'integer' && value !== null ? Number(value) : value
    expect([at, name, ...check.faults(schema, read)]).toEqual([at, name])
  }
  for (const [name, value] of Object.entries(answerHeaders)) {
    // An item has no version in its body: the tag says which one the document means.
    if (name === 'ETag' && /^"\d+"$/.test(value))
      stage.expectSame({ updatedAt: Number(JSON.parse(value)) }, versionIn(came), `${at} ETag`)
    expect(`${at} ${name}: ${came.get(name)}`).toBe(`${at} ${name}: ${stage.translate(value)}`)
  }
}

/** The document and the pages are shown cut short; their errors are whole. */
const cutShort = ['getDescription', 'getDocsPage', 'getDocsText', 'getSkill', 'getLlmsText']

const replay = async (scenario: Scenario): Promise<void> => {
  const { operation, name, response, answer, given } = scenario
  const at = `${operation.id} ${name}`
  const key = await freshKey(operation)
  const stage = new Stage()
  await prepare(stage, key, [...document['x-given'], ...given])
  const came = await send(scenario, stage, key)
  const text = came instanceof Response ? await came.text() : came.text
  expect(`${at} ${came.status} ${came.status === response.status ? '' : text}`).toBe(`${at} ${response.status} `)
  const [type, media] = Object.entries(response.content)[0] ?? []
  if (type === undefined) expect(`${at} ${text}`).toBe(`${at} `)
  else {
    if (!isBytes(scenario)) expect(came.headers.get('content-type')).toStartWith(type)
    const value = type === 'application/json' ? JSON.parse(text) : text
    expect([at, ...check.faults(media.schema, value)]).toEqual([at])
    if (came.status >= 400 || !cutShort.includes(operation.id)) stage.expectSame(answer, value, at)
    else if (typeof answer === 'string') expect(value).toStartWith(answer)
    else expect(value).toMatchObject(answer)
  }
  // The headers come after the body, which says which real version an ETag of the document means.
  expectHeaders(scenario, stage, came.headers, at)
}

// The names of the tests have to be known before the server runs; that its document is this one is the first of them.
const made: Json = JSON.parse(JSON.stringify(makeDocument()))

test('the server answers the document that the examples are taken from', () => {
  expect(document).toEqual(made)
})

for (const operation of operationsOf(made)) {
  for (const { name, response } of scenariosOf(made, operation)) {
    test(`${operation.method} ${operation.path}, example ${name}: ${response.status} as shown`, async () => {
      const same = operationsOf(document).find(({ id }) => id === operation.id)!
      await replay(scenariosOf(document, same).find((one) => one.name === name)!)
    })
  }
}
