import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import {
  eventually,
  type Json,
  makeTempDir,
  removeTempDir,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { legacyRequest, newest, type PostOptions, post, type RpcResponse, request, requestMeta } from '../mcp/rpc.ts'
import {
  createExpiredKey,
  createKey,
  createRevokedKey,
  makeTable,
  ok,
  refused,
  unknownKey,
  useService,
} from './service.ts'
import { makeTask } from './task.ts'

// POST /mcp as HTTP: what is refused before a message is read, and what the protocol says about headers and messages. The
// conformance suite checks some of it too; here are all cases, on both engines.

const service = useService()
const secret = (): { key: string } => ({ key: service.org.secretKey })

/** Fails unless the answer is this error of the protocol; gives the error. */
const rpcRefused = (answer: RpcResponse, status: number, code: number, id: Json = 1): Json => {
  const { error, id: named } = answer.body
  expect({
    status: answer.status,
    code: error?.code,
    id: named ?? null,
    text: error === undefined ? answer.text : '',
  }).toEqual({
    status,
    code,
    id,
    text: '',
  })
  expect(answer.headers.get('content-type')).toStartWith('application/json')
  return error
}

/** An answer without a member `id`. */
const noId = null

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

/** A message of the older revisions, as text. */
const send = (body: Json, options: PostOptions = {}): Promise<RpcResponse> =>
  post(service.server, body, { ...secret(), ...options })

describe('methods and CORS', () => {
  test.each(['GET', 'DELETE', 'HEAD', 'PUT', 'PATCH'])('%s answers 405 with Allow', async (method) => {
    for (const path of ['/mcp', '/mcp?db=app']) {
      const answer = await service.server.request(method, path, secret())
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'OPTIONS, POST'])
      if (method !== 'HEAD') refused(answer, 405, 'method_not_allowed')
    }
  })

  test('a preflight allows the headers of the protocol', async () => {
    const { status, headers } = await service.server.request('OPTIONS', '/mcp', {
      headers: { origin: 'https://anywhere.example', 'access-control-request-method': 'POST' },
    })
    expect(status).toBe(204)
    const allowed = headers.get('access-control-allow-headers')!.toLowerCase().split(', ')
    for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'authorization', 'content-type']) {
      expect(allowed).toContain(name)
    }
    expect(headers.get('access-control-allow-methods')).toContain('POST')
  })
})

describe('who calls', () => {
  const origin = 'https://app.example'
  let proxied: Server
  let open: Server

  beforeAll(async () => {
    proxied = await startServer({
      args: ['--public-url', 'https://cubby.example', '--allowed-origins', `${origin},http://localhost:3000`],
    })
    open = await startServer({ args: ['--host', '0.0.0.0'] })
    open.url = `http://127.0.0.1:${open.port}`
  })
  afterAll(async () => {
    await proxied?.stop()
    await open?.stop()
  })

  // The requests have no key: one that may come in is refused for its key, and one that may not is refused before.
  const judged = async (server: Server, headers: Record<string, string>): Promise<number> => {
    const answer = await request(server, 'tools/list', {}, { headers })
    if (answer.status === 401) expect(answer.body.error.code).toBe('missing_api_key')
    else rpcRefused(answer, 403, -32600, noId)
    return answer.status
  }

  test('on a loopback address only loopback names are a Host, and only its own pages an Origin', async () => {
    const { server } = service
    const own = `127.0.0.1:${server.port}`
    expect(await judged(server, {})).toBe(401)
    for (const host of [own, `localhost:${server.port}`, 'LocalHost', 'cubby.localhost', '[::1]:4600', '127.1.2.3']) {
      expect([host, await judged(server, { host })]).toEqual([host, 401])
      expect([host, await judged(server, { host, origin: `http://${host}` })]).toEqual([host, 401])
      expect([host, await judged(server, { host, origin: 'https://evil.example' })]).toEqual([host, 403])
    }
    for (const host of [
      'evil.example',
      `evil.example:${server.port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
    ]) {
      expect([host, await judged(server, { host })]).toEqual([host, 403])
      // A page whose name was made to point at this machine: both are the same.
      expect([host, await judged(server, { host, origin: `http://${host}` })]).toEqual([host, 403])
    }
    const foreign = [
      'null',
      '',
      'http://127.0.0.1:1',
      `http://${own}.evil.example`,
      `http://${own}, https://evil.example`,
    ]
    for (const origin of foreign) expect([origin, await judged(server, { origin })]).toEqual([origin, 403])
  })

  test('--public-url and --allowed-origins name more hosts, and --allowed-origins more origins', async () => {
    for (const host of ['cubby.example', 'Cubby.Example', 'cubby.example:443', 'app.example', 'localhost:9']) {
      expect([host, await judged(proxied, { host })]).toEqual([host, 401])
      expect([host, await judged(proxied, { host, origin })]).toEqual([host, 401])
      expect([host, await judged(proxied, { host, origin: 'http://localhost:3000' })]).toEqual([host, 401])
      expect([host, await judged(proxied, { host, origin: 'https://evil.example' })]).toEqual([host, 403])
    }
    for (const host of ['evil.example', 'cubby.example:8443', 'cubby.example.evil.example']) {
      expect([host, await judged(proxied, { host })]).toEqual([host, 403])
      expect([host, await judged(proxied, { host, origin })]).toEqual([host, 403])
    }
    expect(await judged(proxied, { host: 'cubby.example', origin: 'https://cubby.example' })).toBe(401)
    for (const almost of ['http://app.example', 'https://app.example:8443', 'http://localhost:3001']) {
      expect([almost, await judged(proxied, { origin: almost })]).toEqual([almost, 403])
    }
  })

  test('on other addresses any Host may be the name of the server, but an Origin must be the same', async () => {
    expect(await judged(open, { host: 'cubby.internal:4600' })).toBe(401)
    expect(await judged(open, { host: 'cubby.internal:4600', origin: 'http://cubby.internal:4600' })).toBe(401)
    expect(await judged(open, { host: 'cubby.internal:4600', origin: 'http://cubby.internal' })).toBe(403)
    expect(await judged(open, { host: 'cubby.internal:4600', origin: 'https://evil.example' })).toBe(403)
  })

  test('a page of an allowed origin may use a public key, and no secret one', async () => {
    const { secretKey, publicKey } = await proxied.createOrganization()
    const page = { headers: { origin } }
    const listed = await request(proxied, 'tools/list', {}, { key: publicKey, ...page })
    expect([listed.status, listed.body.result.tools.length > 0]).toEqual([200, true])
    refused(await request(proxied, 'tools/list', {}, { key: secretKey, ...page }), 403, 'secret_key_in_browser')
  })
})

describe('keys', () => {
  test('what is wrong with a key is an HTTP status with our error body', async () => {
    const { server, api } = service
    const with_ = (key?: string) => request(server, 'tools/list', {}, { key })
    const missing = await with_()
    refused(missing, 401, 'missing_api_key')
    expect(missing.headers.get('www-authenticate')).toStartWith('Bearer')
    refused(await with_(unknownKey()), 401, 'invalid_api_key')
    refused(await with_((await createRevokedKey(api)).key), 403, 'revoked_api_key')
    refused(await with_((await createExpiredKey(api)).key), 401, 'expired_api_key')
  })

  test("a page of the server's own origin may use a secret key", async () => {
    const headers = { origin: `http://127.0.0.1:${service.server.port}` }
    expect((await request(service.server, 'tools/list', {}, { ...secret(), headers })).status).toBe(200)
  })

  test('a key that is revoked while get_run waits gets 403', async () => {
    const task = await makeTask(service.api)
    const { id: run } = await task.run({ delaySeconds: 1_000 })
    const { id, key } = await createKey(service.api)
    const call = { name: 'get_run', arguments: { db: 'app', task: task.name, run, waitSeconds: 20 } }
    const waiting = request(service.server, 'tools/call', call, { key })
    await Bun.sleep(150)
    ok(await service.api.delete(`/api/keys/${id}`))
    ok(await task.cancel(run))
    refused(await waiting, 403, 'revoked_api_key')
  })

  test('in a batch it is an error of its message: what came before it has been done', async () => {
    const [task, table] = [await makeTask(service.api), await makeTable(service.api)]
    const { id: run } = await task.run({ delaySeconds: 1_000 })
    const { id, key } = await createKey(service.api)
    const call = (id: number, name: string, args: Json) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: { db: 'app', ...args } },
    })
    const records = [{ hashKey: 'a', data: {} }]
    const waiting = post(
      service.server,
      [
        call(1, 'put_records', { table: table.name, records }),
        call(2, 'get_run', { task: task.name, run, waitSeconds: 20 }),
      ],
      { key },
    )
    await eventually('the record is there', async () => ((await table.get('a')).status === 200 ? true : undefined))
    await Bun.sleep(100)
    ok(await service.api.delete(`/api/keys/${id}`))
    ok(await task.cancel(run))
    const { status, body } = await waiting
    expect([status, body[0].result?.isError]).toEqual([200, false])
    expect(body[1]).toMatchObject({ id: 2, error: { code: -32603, data: { error: { code: 'revoked_api_key' } } } })
  })
})

test('with --no-mcp there is no such path', async () => {
  const server = await startServer({ args: ['--no-mcp'] })
  try {
    const { secretKey } = await server.createOrganization()
    for (const key of [undefined, secretKey])
      refused(await request(server, 'tools/list', {}, { key }), 404, 'route_not_found')
    refused(await server.request('GET', '/mcp'), 404, 'route_not_found')
  } finally {
    await server.stop()
  }
})

test.if(storeIsEmbedded())('a store that cannot be used answers 503 with our error body', async () => {
  const top = makeTempDir()
  const dataDir = join(top, 'data')
  const server = await startServer({ dataDir })
  try {
    const { secretKey } = await server.createOrganization()
    await makeTable(server.as(secretKey), undefined, 'notes')
    renameSync(dataDir, join(top, 'away'))
    const call = {
      name: 'put_records',
      arguments: { db: 'app', table: 'notes', records: [{ hashKey: 'a', data: {} }] },
    }
    const answer = await eventually('the server notices', async () => {
      const tried = await request(server, 'tools/call', call, { key: secretKey })
      return tried.status === 200 ? undefined : tried
    })
    refused(answer, 503, 'unavailable')
    expect(answer.headers.get('retry-after')).toBeTruthy()
  } finally {
    await server.kill()
    removeTempDir(top)
  }
})

describe('the parameters of the address', () => {
  const wrong: Record<string, string> = {
    '?readOnly=True': 'readOnly',
    '?readOnly=false': 'readOnly',
    '?readOnly=1': 'readOnly',
    '?readOnly=': 'readOnly',
    '?readOnly': 'readOnly',
    '?readonly=true': 'readonly',
    '?read_only=true': 'read_only',
    '?readOnly=true&readOnly=true': 'readOnly',
    '?db=': 'db',
    '?db=a%20b': 'db',
    '?db=UPPER': 'db',
    '?db=app&db=app': 'db',
    '?DB=app': 'DB',
    '?database=app': 'database',
    '?readOnly=true&x': 'x',
  }
  test.each(Object.entries(wrong))('%s is refused: a typo switches no protection off', async (query, field) => {
    for (const answer of [
      await request(service.server, 'tools/list', {}, { ...secret(), query }),
      await legacyRequest(service.server, 'tools/list', {}, { ...secret(), query }),
    ]) {
      const { hint } = refused(answer, 400, 'invalid_request', field)
      expect(hint).toBeTruthy()
    }
  })

  test('?readOnly=true leaves the reading tools, and ?db= takes the argument away', async () => {
    const listed = async (query: string): Promise<Json[]> =>
      (await request(service.server, 'tools/list', {}, { ...secret(), query })).body.result.tools
    const reading = await listed('?readOnly=true&db=app')
    expect(reading.length).toBeLessThan((await listed('')).length)
    for (const { annotations, inputSchema } of reading) {
      expect(annotations.readOnlyHint).toBe(true)
      expect(Object.keys(inputSchema.properties)).not.toContain('db')
      expect(inputSchema.required ?? []).not.toContain('db')
    }
    const write = { name: 'create_table', arguments: { table: 'made' } }
    rpcRefused(
      await request(service.server, 'tools/call', write, { ...secret(), query: '?readOnly=true' }),
      200,
      -32602,
    )
    const made = await request(service.server, 'tools/call', write, { ...secret(), query: '?db=bound' })
    expect(made.body.result).toMatchObject({ isError: false, structuredContent: { db: 'bound', table: 'made' } })
    const other = { name: 'create_table', arguments: { db: 'app', table: 'made' } }
    const refusedCall = await request(service.server, 'tools/call', other, { ...secret(), query: '?db=bound' })
    expect(refusedCall.body.result.isError).toBe(true)
    expect(JSON.parse(refusedCall.body.result.content[0].text).error).toMatchObject({
      code: 'invalid_request',
      field: 'db',
    })
  })
})

describe('headers of the newest revision', () => {
  const call = { name: 'list_tables', arguments: {} }
  const sent = (headers: Record<string, string | null>, method = 'tools/call', params: Json = call) =>
    request(service.server, method, params, { ...secret(), headers })

  test('a request whose headers say the same as its body is answered', async () => {
    expect((await sent({})).body.result).toMatchObject({ resultType: 'complete', isError: false })
    // Optional white space around a value is not part of it.
    expect((await sent({ 'mcp-method': ' tools/call ', 'mcp-name': '\tlist_tables' })).status).toBe(200)
  })

  const mismatches: [string, Record<string, string | null>][] = [
    ['no Mcp-Method', { 'mcp-method': null }],
    ['another Mcp-Method', { 'mcp-method': 'tools/list' }],
    ['Mcp-Method in another case', { 'mcp-method': 'Tools/Call' }],
    ['an empty Mcp-Method', { 'mcp-method': '' }],
    ['no Mcp-Name', { 'mcp-name': null }],
    ['another Mcp-Name', { 'mcp-name': 'delete_table' }],
    ['Mcp-Name in another case', { 'mcp-name': 'List_Tables' }],
    ['Mcp-Name in Base64 of another name', { 'mcp-name': `=?base64?${btoa('delete_table')}?=` }],
    ['Mcp-Name in Base64 that is not valid', { 'mcp-name': '=?base64?bGlzdF90YWJsZXM?=' }],
    ['Mcp-Name with the marks of Base64 in another case', { 'mcp-name': `=?BASE64?${btoa('list_tables')}?=` }],
    ['no MCP-Protocol-Version', { 'mcp-protocol-version': null }],
    ['another MCP-Protocol-Version', { 'mcp-protocol-version': '2025-11-25' }],
    ['an MCP-Protocol-Version that nobody knows', { 'mcp-protocol-version': '2099-01-01' }],
  ]
  test.each(mismatches)('%s: 400, -32020', async (_, headers) => {
    rpcRefused(await sent(headers), 400, -32020)
  })

  test('Mcp-Name may be in Base64, and must be if a header cannot carry it', async () => {
    expect((await sent({ 'mcp-name': `=?base64?${btoa('list_tables')}?=` })).status).toBe(200)
    for (const name of ['日本', ' padded ', 'two\nlines', '=?base64?YQ==?=']) {
      const encoded = `=?base64?${Buffer.from(name).toString('base64')}?=`
      rpcRefused(await sent({ 'mcp-name': encoded }, 'tools/call', { name }), 200, -32602)
    }
    // Plain, it would be read as the Base64 of something else.
    rpcRefused(await sent({}, 'tools/call', { name: '=?base64?YQ==?=' }), 400, -32020)
    rpcRefused(await sent({}, 'tools/call', { name: 'é' }), 400, -32020)
  })

  test('Mcp-Name is params.uri of resources/read, and params.name of prompts/get', async () => {
    const page = { uri: 'cubby:///skill.md' }
    expect((await sent({}, 'resources/read', page)).body.result.contents[0].uri).toBe(page.uri)
    rpcRefused(await sent({ 'mcp-name': 'cubby:///api.md' }, 'resources/read', page), 400, -32020)
    rpcRefused(await sent({ 'mcp-name': null }, 'resources/read', page), 400, -32020)
    const prompt = { name: 'model_my_data', arguments: { application: 'a shop' } }
    expect((await sent({}, 'prompts/get', prompt)).body.result.messages).toHaveLength(1)
    rpcRefused(await sent({ 'mcp-name': 'find_records' }, 'prompts/get', prompt), 400, -32020)
  })

  test('_meta names the version and the capabilities, or the request is malformed: 400, -32602', async () => {
    const version = 'io.modelcontextprotocol/protocolVersion'
    const capabilities = 'io.modelcontextprotocol/clientCapabilities'
    const bad: Json[] = [{}, { [version]: newest }, { [capabilities]: {} }]
    bad.push({ [version]: newest, [capabilities]: [] }, { [version]: 1, [capabilities]: {} })
    for (const meta of bad) rpcRefused(await sent({}, 'tools/list', { _meta: meta }), 400, -32602)
    rpcRefused(await sent({}, 'tools/list', { _meta: null }), 400, -32602)
  })
})

describe('versions', () => {
  const asked = (version: string) => ({ ...requestMeta, 'io.modelcontextprotocol/protocolVersion': version })

  test.each(['1900-01-01', '2024-11-05', '2026-07-29', 'latest', '__proto__'])(
    '%s: 400, -32022 with ours',
    async (version) => {
      const headers = { 'mcp-protocol-version': version }
      const modern = await request(service.server, 'tools/list', { _meta: asked(version) }, { ...secret(), headers })
      const supported = [newest, '2025-11-25', '2025-06-18', '2025-03-26']
      expect(rpcRefused(modern, 400, -32022).data).toEqual({ supported, requested: version })
      rpcRefused(await send(list, { headers }), 400, -32022)
    },
  )

  test('initialize agrees on the version that was asked for, or on the newest with a handshake', async () => {
    const agreed: Record<string, string> = {
      '2025-11-25': '2025-11-25',
      '2025-06-18': '2025-06-18',
      '2025-03-26': '2025-03-26',
      '2024-11-05': '2025-11-25',
      '2026-07-28': '2025-11-25',
      '3000-01-01': '2025-11-25',
    }
    for (const [protocolVersion, expected] of Object.entries(agreed)) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
      const { result } = (await legacyRequest(service.server, 'initialize', params, secret())).body
      expect([protocolVersion, result.protocolVersion]).toEqual([protocolVersion, expected])
      expect(result.serverInfo.name).toBe('cubby')
      expect(result.instructions.length).toBeLessThanOrEqual(1_200)
    }
  })

  test('methods of the other kind of revision do not exist: 404 in the newest, 200 before', async () => {
    for (const method of ['initialize', 'ping', 'subscriptions/listen', 'logging/setLevel', 'constructor', '']) {
      rpcRefused(await request(service.server, method, {}, secret()), 404, -32601)
    }
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', undefined]) {
      const headers = version === undefined ? undefined : { 'mcp-protocol-version': version }
      for (const method of ['server/discover', 'resources/subscribe', 'toString']) {
        rpcRefused(await legacyRequest(service.server, method, {}, { ...secret(), headers }), 200, -32601)
      }
      const ping = await legacyRequest(service.server, 'ping', undefined, { ...secret(), headers })
      expect(ping.text).toBe('{"jsonrpc":"2.0","id":1,"result":{}}')
    }
  })

  test('a resource that does not exist has the code of its revision', async () => {
    const gone = { uri: 'cubby://app/nothing_there' }
    expect(rpcRefused(await request(service.server, 'resources/read', gone, secret()), 200, -32602).data.uri).toBe(
      gone.uri,
    )
    rpcRefused(await legacyRequest(service.server, 'resources/read', gone, secret()), 200, -32002)
  })

  test('an unknown tool, one that the key may not use, and a cursor that a list does not have: -32602', async () => {
    const call = (name: Json, key = service.org.secretKey) =>
      request(
        service.server,
        'tools/call',
        { name },
        { key, headers: typeof name === 'string' ? {} : { 'mcp-name': null } },
      )
    for (const name of ['no_such_tool', 'constructor', '__proto__']) rpcRefused(await call(name), 200, -32602)
    rpcRefused(await call('put_records', service.org.publicKey), 200, -32602)
    rpcRefused(await request(service.server, 'tools/call', {}, secret()), 200, -32602)
    rpcRefused(await legacyRequest(service.server, 'tools/call', { name: 7 }, secret()), 200, -32602)
    rpcRefused(
      await legacyRequest(service.server, 'tools/call', { name: 'list_tables', arguments: [] }, secret()),
      200,
      -32602,
    )
    for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']) {
      rpcRefused(await request(service.server, method, { cursor: 'x' }, secret()), 200, -32602)
    }
  })

  // A tool that runs as if it had no arguments answers something else than what was asked.
  test('arguments under another name: -32602, and the message has the right one', async () => {
    for (const name of ['args', 'input', 'params', 'parameters']) {
      const params = { name: 'list_tables', [name]: { db: 'app' } }
      const { message } = rpcRefused(await request(service.server, 'tools/call', params, secret()), 200, -32602)
      expect(message).toBe(`params.${name} is not read: write it as params.arguments.`)
    }
  })
})

describe('messages', () => {
  test('a notification is accepted without a body, and does nothing', async () => {
    const notifications = [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      { jsonrpc: '2.0', method: 'notifications/unknown' },
      {
        jsonrpc: '2.0',
        method: 'tools/call',
        params: { name: 'create_table', arguments: { db: 'quiet', table: 'made' } },
      },
    ]
    for (const notification of notifications) {
      for (const version of [undefined, '2025-11-25', newest]) {
        const headers = version === undefined ? undefined : { 'mcp-protocol-version': version }
        const { status, text } = await send(notification, { headers })
        expect([status, text]).toEqual([202, ''])
      }
    }
    refused(await service.api.get('/v1/quiet/made'), 404, 'table_not_found')
    rpcRefused(await send(notifications[0], { headers: { 'mcp-protocol-version': '1900-01-01' } }), 400, -32022, noId)
  })

  test('an id comes back as it was written', async () => {
    for (const id of ['7', '-1', '0', '"a"', '""', '"\\u00e9 \\n"', '12345678901234567890123', '1.0', '1e3']) {
      const { status, text } = await send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
      expect(status).toBe(200)
      const named = text.slice('{"jsonrpc":"2.0","id":'.length, -',"result":{}}'.length)
      if (id.startsWith('"')) expect(JSON.parse(named)).toBe(JSON.parse(id))
      else expect(named).toBe(id)
    }
  })

  test.each(['null', '1.5', 'true', '{}', '[1]', '1e400', '0.1e0'])('the id %s is refused', async (id) => {
    rpcRefused(await send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`), 400, -32600, noId)
  })

  test.each([
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tables","name":"delete_table"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tables"},"params":{"name":"delete_table"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tables","n\\u0061me":"delete_table"}}',
  ])('a second member with the same name is refused: %s', async (body) => {
    expect(rpcRefused(await send(body), 400, -32600, noId).message).toContain('twice')
  })

  test('also in _meta: an intermediary could read the other one', async () => {
    const meta = JSON.stringify(requestMeta).slice(1)
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25",${meta}}}`
    const headers = { 'mcp-protocol-version': newest, 'mcp-method': 'tools/list' }
    rpcRefused(await send(body, { headers }), 400, -32600)
  })

  test.each([
    '',
    '   ',
    '{',
    '{"jsonrpc":"2.0"',
    'nonsense',
    "{'jsonrpc':'2.0'}",
    '{"a":1}{"b":2}',
    '\u{feff}{}',
    '{"id":01}',
  ])('text that is not JSON is refused: %p', async (body) => {
    rpcRefused(await send(body), 400, -32700, noId)
  })

  test('bytes that are not UTF-8 are refused', async () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping\xff"}', 'latin1')
    rpcRefused(await send(bytes), 400, -32700, noId)
  })

  test.each(['1', '"text"', 'null', '{}', '{"jsonrpc":"1.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":1}'])(
    'JSON that is no request is refused: %s',
    async (body) => {
      rpcRefused(await send(body), 400, -32600, noId)
    },
  )

  test.each(['[]', '"x"', '1', 'null'])('params that are no object are refused: %s', async (params) => {
    rpcRefused(await send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${params}}`), 400, -32600, noId)
  })

  test('a response is refused: the server sends no requests', async () => {
    rpcRefused(await send({ jsonrpc: '2.0', id: 1, result: {} }), 400, -32600, noId)
  })

  test('a body of another type is refused, and so is one over 12 MiB', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
      rpcRefused(await send(JSON.stringify(list), { headers: { 'content-type': type } }), 415, -32600, noId)
    }
    const typed = await send(JSON.stringify(list), { headers: { 'content-type': 'Application/JSON; charset=utf-8' } })
    expect(typed.status).toBe(200)
    const fill = (bytes: number): string => {
      const [head, tail] = ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"', '"}}']
      return `${head}${'x'.repeat(bytes - head.length - tail.length)}${tail}`
    }
    expect((await send(fill(12 * 1024 * 1024))).status).toBe(200)
    rpcRefused(await send(fill(12 * 1024 * 1024 + 1)), 413, -32600, noId)
  })
})

describe('batches', () => {
  const ping = (id: number): Json => ({ jsonrpc: '2.0', id, method: 'ping' })
  const oldest = { headers: { 'mcp-protocol-version': '2025-03-26' } }

  test('only 2025-03-26 has them', async () => {
    for (const version of ['2025-06-18', '2025-11-25', newest]) {
      rpcRefused(await send([ping(1)], { headers: { 'mcp-protocol-version': version } }), 400, -32600, noId)
    }
    for (const options of [oldest, {}]) {
      const { status, body } = await send([ping(1), { jsonrpc: '2.0', method: 'notifications/x' }, ping(2)], options)
      expect([status, body]).toEqual([200, [1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} }))])
    }
  })

  test('with notifications alone get 202, and without messages 400', async () => {
    const { status, text } = await send([{ jsonrpc: '2.0', method: 'notifications/x' }], oldest)
    expect([status, text]).toEqual([202, ''])
    rpcRefused(await send('[ ]', oldest), 400, -32600, noId)
  })

  test('each message has its own answer, also next to one that is wrong', async () => {
    const body = `[1, ${JSON.stringify(ping(1))} ,{"jsonrpc":"2.0","id":2,"method":"x","id":3}, [[2]], "}", ${JSON.stringify(ping(4))}]`
    const answer = await send(body, oldest)
    expect(answer.status).toBe(200)
    expect(answer.body.map(({ id, error }: Json) => [id, error?.code])).toEqual([
      [undefined, -32600],
      [1, undefined],
      [undefined, -32600],
      [undefined, -32600],
      [undefined, -32600],
      [4, undefined],
    ])
  })

  test('at most 25 messages are handled', async () => {
    const many = (count: number) =>
      send(
        Array.from({ length: count }, (_, i) => ping(i)),
        oldest,
      )
    expect((await many(25)).body).toHaveLength(25)
    const { body } = await many(26)
    expect(body).toHaveLength(26)
    expect(body[24]).toEqual({ jsonrpc: '2.0', id: 24, result: {} })
    expect(body[25].error.code).toBe(-32600)
  })
})
