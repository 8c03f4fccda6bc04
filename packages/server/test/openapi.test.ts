import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import packageJson from '../package.json' with { type: 'json' }
import { errorCodes } from '../src/core/error-codes.ts'
import { fileUrlPath, fileUrlRoutes } from '../src/http/file-url-endpoint.ts'
import { isVerbAsKey, openRoutes, routes } from '../src/http/routes.ts'
import { statusOf } from '../src/http/status.ts'
import { type Json, type Server, startServer } from './harness.ts'
import {
  codesOf,
  operationsOf,
  parametersOf,
  resolve,
  responsesOf,
  type Scenario,
  scenariosOf,
} from './openapi/scenario.ts'
import { SchemaCheck } from './openapi/schema-check.ts'

// People and programs write their clients from this document. A route that it leaves out does not exist for them, and
// one that it gets wrong breaks them.

setDefaultTimeout(120_000)

let server: Server
let document: Json
beforeAll(async () => {
  server = await startServer({ shared: true })
  document = (await server.request('GET', '/openapi.json')).body
})
afterAll(async () => {
  await server?.stop()
})

const operations = () => operationsOf(document)
const scenarios = (): Scenario[] => operations().flatMap((operation) => scenariosOf(document, operation))

describe('the document', () => {
  test('is valid OpenAPI 3.1 by an independent validator', async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(structuredClone(document))
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
    expect(validator.version).toBe('3.1')
    expect(document.info.version).toBe(packageJson.version)
  })

  test('names the server relatively: behind any host it is right', () => {
    expect(document.servers.map(({ url }: Json) => url)).toEqual(['/'])
  })

  test('has schemas that are strict JSON Schema 2020-12, references included', () => {
    const check = new SchemaCheck(document)
    for (const schema of Object.values<Json>(document.components.schemas)) check.faults(schema, null)
    for (const operation of operations()) {
      for (const { schema } of parametersOf(document, operation)) check.faults(schema, null)
      for (const { headers, content } of responsesOf(document, operation)) {
        for (const { schema } of [...Object.values(headers), ...Object.values(content)]) check.faults(schema, null)
      }
    }
  })

  test('uses every component that it has', () => {
    const text = JSON.stringify(document)
    const unused = Object.entries<Json>(document.components)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, named]) => Object.keys(named).map((name) => `#/components/${kind}/${name}`))
      .filter((pointer) => !text.includes(`"${pointer}"`))
    expect(unused).toEqual([])
  })

  test('is in parts by area, each a valid document of its own, which together have all operations', async () => {
    const parts: Json[] = []
    for (const area of [
      'tables',
      'records',
      'items',
      'changes',
      'buckets',
      'files',
      'tasks',
      'runs',
      'api-keys',
      'tokens',
      'service',
    ]) {
      const { status, body: part } = await server.request('GET', `/openapi.json?area=${area}`)
      const validator = new Validator()
      const { valid, errors } = await validator.validate(structuredClone(part))
      expect({ area, status, valid, errors }).toEqual({ area, status: 200, valid: true, errors: undefined })
      const text = JSON.stringify(part)
      const pointers = [...text.matchAll(/"#(\/components\/[^"]+)"/g)].map(([, pointer]) =>
        pointer!.split('/').slice(1),
      )
      for (const [, kind, name] of pointers) expect(part.components[kind!]).toHaveProperty([name!])
      for (const [kind, named] of Object.entries<Json>(part.components)) {
        if (kind === 'securitySchemes') continue
        for (const name of Object.keys(named)) expect(text).toContain(`"#/components/${kind}/${name}"`)
      }
      expect(operationsOf(part).length).toBeGreaterThan(0)
      expect(text.length).toBeLessThan(JSON.stringify(document).length / 2)
      parts.push(part)
    }
    const ids = (one: Json): string[] => operationsOf(one).map(({ id }) => id)
    expect(parts.flatMap(ids).sort()).toEqual(ids(document).sort())
    const { status, body } = await server.request('GET', '/openapi.json?area=record')
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'area'])
    expect(body.error.hint).toStartWith(
      'Parts: tables, records, items, changes, buckets, files, tasks, runs, api-keys, tokens, service.',
    )
  })

  test('gives each operation an id of its own, a summary, a description and a known tag', () => {
    const ids = operations().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = document.tags.map(({ name }: Json) => name)
    for (const { id, object } of operations()) {
      const { summary, description } = object
      expect({ id, summary: summary.length > 0, description: description.length > 0 }).toEqual({
        id,
        summary: true,
        description: true,
      })
      expect(tags).toContain(object.tags[0])
    }
  })

  test('needs no key, nor does the page; HEAD and OPTIONS are answered too, other methods are 405 with Allow', async () => {
    for (const path of Object.keys(openRoutes)) {
      const [get, head, options, post] = await Promise.all(
        ['GET', 'HEAD', 'OPTIONS', 'POST'].map((method) => fetch(server.url + path, { method })),
      )
      expect([path, get!.status, head!.status, options!.status, post!.status]).toEqual([path, 200, 200, 204, 405])
      expect(post!.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
      expect(head!.headers.get('content-type')).toBe(get!.headers.get('content-type'))
      expect(await head!.text()).toBe('')
    }
  })
})

describe('routes and methods', () => {
  /** The paths as OpenAPI writes them. */
  const served = [
    ...Object.entries(routes).flatMap(([path, methods]) =>
      Object.entries(methods)
        // Records whose hash key is also a verb are described with all others.
        .filter(([, { operationId }]) => !isVerbAsKey(path, operationId))
        .map(([method]) => `${method} ${path}`),
    ),
    ...Object.keys(fileUrlRoutes).map((method) => `${method} ${fileUrlPath}`),
    ...Object.keys(openRoutes).map((path) => `GET ${path}`),
  ].map((route) => route.replaceAll(/:(\w+)/g, '{$1}'))

  test('every route of the table is in the document, and every operation of the document is a route', () => {
    const described = operations().map(({ method, path }) => `${method} ${path}`)
    const implied = described.filter((route) => /^(HEAD|OPTIONS) /.test(route))
    expect(described.filter((route) => !implied.includes(route)).sort()).toEqual(served.sort())
    // HEAD goes with GET, OPTIONS with everything.
    for (const route of implied) {
      expect(served).toContain(route.startsWith('OPTIONS') ? 'GET /v1' : route.replace('HEAD', 'GET'))
    }
  })

  test('every parameter in a path is described, and no other', () => {
    for (const operation of operations()) {
      const inPath = parametersOf(document, operation).filter((parameter) => parameter.in === 'path')
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(operation.path.match(/\{\w+\}/g) ?? [])
    }
  })

  test('the keys that each takes are those that its route needs', () => {
    const both = [{ secretKey: [] }, { publicKey: [] }]
    const secret = [{ secretKey: [] }]
    for (const { method, path, object } of operations()) {
      const route = Object.entries(routes).find(([raw]) => raw.replaceAll(/:(\w+)/g, '{$1}') === path)?.[1]
      const served = method === 'OPTIONS' ? undefined : route?.[(method === 'HEAD' ? 'GET' : method) as 'GET']
      const keys = served === undefined ? [] : served.keyNeeded === 'read' ? both : secret
      const tokens = served === undefined || served.grants === 'none' ? [] : [{ userToken: [] }]
      expect([method, path, object.security]).toEqual([method, path, [...keys, ...tokens]])
    }
  })

  test('requests are authenticated with a bearer key', () => {
    for (const scheme of Object.values<Json>(document.components.securitySchemes)) {
      expect([scheme.type, scheme.scheme]).toEqual(['http', 'bearer'])
    }
  })
})

describe('error codes', () => {
  test('every code is one that some operation may answer, and no operation names another', () => {
    const described = operations().flatMap((operation) => responsesOf(document, operation).flatMap(codesOf))
    expect([...new Set(described)].sort()).toEqual([...errorCodes].sort())
  })

  test('every code stands under its status, with the headers of that status', () => {
    for (const operation of operations()) {
      for (const response of responsesOf(document, operation)) {
        const { status, headers } = response
        for (const code of codesOf(response)) {
          expect([operation.id, code, status]).toEqual([operation.id, code, statusOf[code as 'internal']])
        }
        const wanted = { 401: 'WWW-Authenticate', 405: 'Allow', 416: 'Content-Range', 503: 'Retry-After' }[status]
        if (wanted !== undefined) expect(Object.keys(headers)).toContain(wanted)
        // The HTTP parser answers 431 before there is a request.
        expect(Object.keys(headers).includes('X-Request-Id')).toBe(status !== 431)
      }
    }
  })

  test('every code of every operation has an example', () => {
    const missing = operations().flatMap((operation) =>
      responsesOf(document, operation).flatMap((response) => {
        const { examples = {} } = response.content['application/json'] ?? {}
        const shown = Object.values<Json>(examples).map((example) => resolve(document, example).value.error?.code)
        return codesOf(response)
          .filter((code) => !shown.includes(code))
          .map((code) => `${operation.id}: ${code}`)
      }),
    )
    expect(missing).toEqual([])
  })
})

describe('examples', () => {
  test('every success that an operation describes has one', () => {
    const shown = scenarios().map(({ operation, response }) => `${operation.id} ${response.status}`)
    const successes = operations().flatMap((operation) =>
      responsesOf(document, operation)
        .filter(({ status }) => status < 400)
        .map(({ status }) => `${operation.id} ${status}`),
    )
    // A 304 to HEAD is that to GET, which is shown. The redirect depends on Accept, which OpenAPI does not allow as a
    // parameter; http/entry-point.test.ts tests it. An example in the document cannot have the tag of the document;
    // openapi/compression.test.ts and agents/pages.test.ts test it.
    // User tokens and login tokens end soon, so no example has one; http/user-tokens.test.ts and http/logins.test.ts send them.
    const shownElsewhere =
      /^(head.* 304|describeOwnToken 200|exchangeToken 201|getEntryPoint 302|(getDescription|getDocsPage|getDocsText|getSkill|getSkillIndex|getLlmsText) 304)$/
    expect(successes.filter((one) => !shown.includes(one) && !shownElsewhere.test(one))).toEqual([])
  })

  test('each is one of its schema: parameters, headers, body, answer', () => {
    const check = new SchemaCheck(document)
    const faults = scenarios().flatMap(({ operation, name, response, body, answer, answerHeaders }) => {
      const at = `${operation.id} ${name}`
      const media = Object.values(response.content)[0]
      return [
        ...parametersOf(document, operation)
          .filter(({ examples }) => examples?.[name] !== undefined)
          .flatMap(({ schema, examples }) => check.faults(schema, examples[name].value)),
        ...Object.entries(answerHeaders).flatMap(([header, value]) =>
          check.faults(response.headers[header].schema, value),
        ),
        ...(media === undefined ? [] : check.faults(media.schema, answer)),
        // A request that is refused may break its schema: that is what it shows. So it is not an example of the body.
        ...(body === undefined || response.status >= 400
          ? []
          : check.faults(Object.values<Json>(operation.object.requestBody.content)[0].schema, body)),
      ].map((fault) => `${at}: ${fault}`)
    })
    expect(faults).toEqual([])
    expect(scenarios().length).toBeGreaterThan(60)
  })

  test('those that many answers share are errors of their schema', () => {
    const check = new SchemaCheck(document)
    for (const [code, { value }] of Object.entries<Json>(document.components.examples)) {
      expect([code, ...check.faults(document.components.schemas.Error, value)]).toEqual([code])
      expect(value.error.code).toBe(code)
    }
  })

  test('each has a curl line, which a shell takes apart into the same request', async () => {
    for (const { operation, name, target, headers, body, bytes } of scenarios()) {
      const sample = operation.object['x-codeSamples'][operation.object['x-sample-examples'].indexOf(name)]
      const words = await shellWords(sample.source)
      const authorization = operation.object.security.length === 0 ? [] : ['Authorization: Bearer svc_live_x']
      const sent = Object.entries(headers).map(([header, value]) => `${header}: ${value}`)
      const type = bytes !== undefined ? [`Content-Type: ${bytes.type}`] : body === undefined ? [] : [jsonType]
      expect([operation.id, name, curlRequest(words)]).toEqual([
        operation.id,
        name,
        {
          method: operation.method,
          url: `http://localhost${target}`,
          headers: [...authorization, ...type, ...sent].sort(),
          body: bytes?.text ?? body,
        },
      ])
    }
  })
})

const jsonType = 'Content-Type: application/json'

/** Returns the words that a shell hands to curl. */
const shellWords = async (line: string): Promise<string[]> => {
  const child = Bun.spawn(['sh', '-c', `curl() { printf '%s\\0' "$@"; }\n${line}`], {
    env: { CUBBY_URL: 'http://localhost', CUBBY_KEY: 'svc_live_x' },
    stdout: 'pipe',
  })
  return (await new Response(child.stdout).text()).split('\0').slice(0, -1)
}

const curlRequest = (words: string[]): Json => {
  const request: Json = { method: 'GET', headers: [], body: undefined }
  for (let i = 0; i < words.length; i++) {
    if (words[i] === '-X') request.method = words[++i]
    else if (words[i] === '-I') request.method = 'HEAD'
    else if (words[i] === '-H') request.headers.push(words[++i])
    else if (words[i] === '-d') request.body = JSON.parse(words[++i]!)
    else if (words[i] === '--data-binary') request.body = words[++i]
    else request.url = words[i]
  }
  request.headers.sort()
  return request
}
