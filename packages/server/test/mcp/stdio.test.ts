import { afterEach, describe, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { cubbyCommand, eventually, type Json, runCubby } from '../harness.ts'
import { createKey, createRevokedKey, makeTable, ok, useService } from '../http/service.ts'
import { makeTask } from '../http/task.ts'
import { requestMeta } from './rpc.ts'

// `cubby mcp` by hand: what a client never sends, and what a server never answers. The official client uses it in
// client.test.ts.

const service = useService()

/** The variables of the test run must not reach the command. */
const environment = (own: Record<string, string>): Record<string, string | undefined> => {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('CUBBY_') && name !== 'NODE_ENV')
  return { ...Object.fromEntries(kept), ...own }
}

const keysSeen = new Set<string>()

class Bridge {
  readonly lines: string[] = []
  stderr = ''
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'pipe'>
  readonly #pumps: Promise<void>[]

  constructor(args: string[] = [], env: Record<string, string> = {}) {
    const own = { CUBBY_URL: service.server.url, CUBBY_KEY: service.org.secretKey, ...env }
    keysSeen.add(own.CUBBY_KEY)
    this.#child = Bun.spawn([...cubbyCommand(), 'mcp', ...args], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      env: environment(own),
    })
    this.#pumps = [this.#readLines(), this.#readErrors()]
  }

  async #readLines(): Promise<void> {
    let rest = ''
    const decoder = new TextDecoder()
    for await (const chunk of this.#child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop()!
      this.lines.push(...lines)
    }
    if (rest !== '') throw new Error(`a line without its end: ${rest.slice(0, 200)}`)
  }

  async #readErrors(): Promise<void> {
    this.stderr = await new Response(this.#child.stderr).text()
  }

  send(...messages: (Json | Uint8Array)[]): void {
    for (const message of messages) {
      this.write(message instanceof Uint8Array || typeof message === 'string' ? message : JSON.stringify(message))
      this.write('\n')
    }
  }

  write(text: string | Uint8Array): void {
    this.#child.stdin.write(text)
    this.#child.stdin.flush()
  }

  /** The line with this id, as text. */
  line(id: Json): Promise<string> {
    return eventually(`the answer to ${id}`, () => this.lines.find((line) => JSON.parse(line).id === id))
  }

  async answer(id: Json): Promise<Json> {
    return JSON.parse(await this.line(id))
  }

  /** The messages of the answers, without asking for their order. */
  nth(count: number): Promise<Json[]> {
    return eventually(`${count} answers`, () =>
      this.lines.length >= count ? this.lines.map((line) => JSON.parse(line)) : undefined,
    )
  }

  /** Ends the input; the exit code, when the output is read to its end. */
  async end(): Promise<number> {
    await this.#child.stdin.end()
    await Promise.all(this.#pumps)
    return this.#child.exited
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

let open: Bridge[] = []
const start = (args?: string[], env?: Record<string, string>): Bridge => {
  const bridge = new Bridge(args, env)
  open.push(bridge)
  return bridge
}
afterEach(() => {
  for (const bridge of open) {
    // In every case each line is a message, and none has a key.
    for (const line of bridge.lines) {
      const message = JSON.parse(line)
      for (const each of Array.isArray(message) ? message : [message]) expect(each.jsonrpc).toBe('2.0')
    }
    for (const key of keysSeen) expect(bridge.lines.join('\n') + bridge.stderr).not.toContain(key)
    bridge.kill()
  }
  open = []
})

const call = (id: Json, name: string, args: Json, meta: Json = requestMeta): Json => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, _meta: meta },
})

describe('messages', () => {
  test('each gets one line, in any order; notifications get none; the end of input is exit 0', async () => {
    const task = await makeTask(service.api)
    const { id: run } = await task.run({ delaySeconds: 1_000 })
    const bridge = start()
    bridge.send(
      call('slow', 'get_run', { db: 'app', task: task.name, run, waitSeconds: 1 }),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      '',
      { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: requestMeta } },
    )
    expect((await bridge.answer(1)).result.tools.length).toBeGreaterThan(10)
    expect(bridge.lines).toHaveLength(1)
    // A call in flight is finished.
    expect(await bridge.end()).toBe(0)
    expect(bridge.lines).toHaveLength(2)
    expect(JSON.parse(bridge.lines[1]!)).toMatchObject({ id: 'slow', result: { structuredContent: { id: run } } })
    expect(bridge.stderr).toBe('')
  })

  test('the handshake of older revisions sets the version of the messages after it', async () => {
    const bridge = start()
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    bridge.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    expect((await bridge.answer(0)).result.protocolVersion).toBe('2025-06-18')
    bridge.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
    expect(await bridge.line(1)).toBe('{"jsonrpc":"2.0","id":1,"result":{}}')
    // Only 2025-03-26 has batches.
    bridge.send([{ jsonrpc: '2.0', id: 2, method: 'ping' }])
    expect((await bridge.nth(3))[2]).toMatchObject({ error: { code: -32600 } })
    // A message that names its own version is judged by that.
    bridge.send(call(3, 'list_tables', {}))
    expect((await bridge.answer(3)).result.resultType).toBe('complete')
  })

  test('a batch of 2025-03-26 is answered in one line', async () => {
    const bridge = start()
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    bridge.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    await bridge.answer(0)
    bridge.send([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })))
    expect((await bridge.nth(2))[1]).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} })))
  })

  test('names that no header can carry are sent in Base64', async () => {
    const bridge = start()
    const names = ['日本', ' padded ', 'two\nlines', '=?base64?YQ==?=', 'é', 'tab\tinside', '']
    for (const [i, name] of names.entries()) bridge.send(call(i, name, {}))
    for (const [i, name] of names.entries()) {
      expect([name, (await bridge.answer(i)).error.message]).toEqual([name, `Unknown tool: ${name}`])
    }
  })

  test('ids and numbers keep their text, and an answer is one line whatever its data looks like', async () => {
    const table = await makeTable(service.api)
    const data = '{ "big": 12345678901234567890.10,\r\n\t"list": [1.0,\n2e3] }'
    const body = `{"hashKey":"a","data":${data}}`
    ok(await service.api.put(table.path, body))
    const bridge = start()
    const get = JSON.stringify(call(1, 'get_records', { db: 'app', table: table.name, keys: [{ hashKey: 'a' }] }))
    bridge.send(get.replace('"id":1', '"id":98765432109876543210'))
    const line = await eventually('the answer', () => bridge.lines[0])
    expect(line).toStartWith('{"jsonrpc":"2.0","id":98765432109876543210,')
    const structured = line.slice(line.indexOf('"structuredContent"'))
    expect(structured).toContain('12345678901234567890.10')
    expect(structured).toContain('2e3')
    expect(line).not.toContain('\r')
    expect(JSON.parse(line).result.structuredContent.records[0].data.list).toEqual([1, 2000])
  })

  test('--read-only and --db are the parameters of the address', async () => {
    const bridge = start(['--read-only', '--db', 'app'])
    bridge.send({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: requestMeta } })
    const { tools } = (await bridge.answer(1)).result
    for (const { annotations, inputSchema } of tools) {
      expect([annotations.readOnlyHint, inputSchema.properties.db]).toEqual([true, undefined])
    }
    bridge.send(call(2, 'create_table', { table: 'x' }))
    expect((await bridge.answer(2)).error.code).toBe(-32602)
    const fromVariable = start([], { CUBBY_READ_ONLY: 'yes' })
    fromVariable.send(call(3, 'create_table', { db: 'app', table: 'x' }))
    expect((await fromVariable.answer(3)).error.code).toBe(-32602)
  })
})

describe('cancellation', () => {
  test('ends the request on the server, and nothing is answered', async () => {
    const task = await makeTask(service.api)
    const { id: run } = await task.run({ delaySeconds: 1_000 })
    const wait = { db: 'app', task: task.name, run, waitSeconds: 20 }
    // Another one, which waits for the same run and is not cancelled.
    const [bridge, patient] = [start(), start()]
    patient.send(call(1, 'get_run', wait))
    bridge.send(call(7, 'get_run', wait), call('7', 'get_run', wait), { jsonrpc: '2.0', id: 1, method: 'ping' })
    // By then the others are on their way.
    expect((await bridge.answer(1)).result).toEqual({})
    const cancel = (requestId: Json): Json => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId },
    })
    bridge.send(cancel(8), cancel(7), cancel('7'))
    const order: string[] = []
    const ended = patient.end().finally(() => order.push('patient'))
    expect(await bridge.end()).toBe(0)
    expect(order).toEqual([])
    expect(bridge.lines).toHaveLength(1)
    ok(await task.cancel(run))
    expect(await ended).toBe(0)
    expect(patient.lines).toHaveLength(1)
  })
})

describe('what is wrong', () => {
  test('lines that are no messages get an error, and the next one is read', async () => {
    const bridge = start()
    bridge.send('nonsense', '{"jsonrpc":"2.0",', Buffer.from([0x22, 0xff, 0x22]), '1', {
      jsonrpc: '2.0',
      id: null,
      method: 'ping',
    })
    bridge.send({ jsonrpc: '2.0', id: 1, result: {} })
    const answers = await bridge.nth(6)
    expect(answers.map(({ error }) => error.code).sort()).toEqual([-32600, -32600, -32600, -32600, -32700, -32700])
    for (const answer of answers) expect(Object.keys(answer)).not.toContain('id')
    bridge.send({ jsonrpc: '2.0', id: 2, method: 'ping' })
    expect((await bridge.answer(2)).result).toEqual({})
  })

  test('an error of the server without an id gets that of the request: its sender waits', async () => {
    const bridge = start()
    bridge.send('{"jsonrpc":"2.0","id":5,"method":"ping","method":"ping"}')
    expect((await bridge.answer(5)).error).toMatchObject({ code: -32600, message: 'method appears twice in the body.' })
    const meta = { ...requestMeta, 'io.modelcontextprotocol/protocolVersion': 'no\nheader' }
    bridge.send({ jsonrpc: '2.0', id: 6, method: 'tools/list', params: { _meta: meta } })
    expect((await bridge.answer(6)).error.code).toBe(-32020)
    bridge.send({ jsonrpc: '2.0', id: 7, method: 'no\nheader', params: { _meta: requestMeta } })
    expect((await bridge.answer(7)).error.code).toBe(-32020)
  })

  test('a line of 12 MiB is passed on, and a longer one is refused without being kept', async () => {
    const bridge = start()
    const message = (id: number, bytes: number): string => {
      const [head, tail] = [`{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"x":"`, '"}}']
      return head + 'x'.repeat(bytes - head.length - tail.length) + tail
    }
    bridge.send(message(1, 12 * 1024 * 1024))
    expect((await bridge.answer(1)).result).toEqual({})
    bridge.send(message(2, 12 * 1024 * 1024 + 1))
    expect((await bridge.nth(2))[1]!.error).toEqual({
      code: -32600,
      message: 'The message is longer than 12582912 bytes.',
    })
    bridge.send({ jsonrpc: '2.0', id: 3, method: 'ping' })
    expect((await bridge.answer(3)).result).toEqual({})
  })

  test('errors of HTTP have our code and hint in data', async () => {
    const { key } = await createRevokedKey(service.api)
    const bridge = start([], { CUBBY_KEY: key })
    bridge.send(call('a', 'list_tables', {}))
    const { error } = await bridge.answer('a')
    expect(error).toMatchObject({ code: -32600, data: { code: 'revoked_api_key', message: error.message } })
    expect(error.data.requestId).toBeTruthy()
    bridge.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect(await bridge.end()).toBe(0)
    expect(bridge.lines).toHaveLength(1)
  })

  test('hints of the server are those of HTTP, not those of the shell', async () => {
    const wrong = `svc_live_${'0'.repeat(38)}`
    const bridge = start([], { CUBBY_KEY: wrong })
    bridge.send(call('a', 'list_tables', {}))
    const { hint } = (await service.server.as(wrong).post('/mcp')).body.error
    expect(hint).toContain('/docs')
    expect((await bridge.answer('a')).error.data.hint).toBe(hint)
  })

  test('a key that is revoked while a tool waits', async () => {
    const task = await makeTask(service.api)
    const { id: run } = await task.run({ delaySeconds: 1_000 })
    const { id, key } = await createKey(service.api)
    const bridge = start([], { CUBBY_KEY: key })
    bridge.send(call(1, 'get_run', { db: 'app', task: task.name, run, waitSeconds: 20 }))
    bridge.send({ jsonrpc: '2.0', id: 2, method: 'ping' })
    // It was sent after the call.
    expect((await bridge.answer(2)).result).toEqual({})
    await Bun.sleep(100)
    ok(await service.api.delete(`/api/keys/${id}`))
    ok(await task.cancel(run))
    expect((await bridge.answer(1)).error.data.code).toBe('revoked_api_key')
  })

  test('a server that does not answer is an error of each request, and no crash', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    taken.close()
    await once(taken, 'close')
    const bridge = start([], { CUBBY_URL: `http://127.0.0.1:${port}` })
    bridge.send(call(1, 'list_tables', {}), { jsonrpc: '2.0', id: 2, method: 'ping' })
    for (const id of [1, 2]) {
      const { error } = await bridge.answer(id)
      expect(error.code).toBe(-32603)
      // It was surely not applied.
      expect(error.message).toBe(`no answer from http://127.0.0.1:${port}: nothing listens there`)
    }
    expect(await bridge.end()).toBe(0)
  })

  test('what is no Cubby server: pages, redirects, endless answers', async () => {
    const foreign = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        switch (request.headers.get('mcp-name')) {
          case 'page':
            return new Response('<html>\nhello</html>', { headers: { 'content-type': 'text/html' } })
          case 'json':
            return Response.json({ status: 'ok' })
          case 'broken':
            return new Response('{"jsonrpc":"2.0","id":1,')
          case 'redirect':
            return Response.redirect('http://127.0.0.1:1/', 307)
          default:
            return new Response(
              new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20)) }),
            )
        }
      },
    })
    try {
      const bridge = start([], { CUBBY_URL: `http://127.0.0.1:${foreign.port}` })
      for (const name of ['page', 'json', 'broken', 'redirect', 'endless']) bridge.send(call(name, name, {}))
      for (const name of ['page', 'json', 'broken']) {
        expect((await bridge.answer(name)).error.message).toContain('but not as a Cubby server does')
      }
      expect((await bridge.answer('redirect')).error.message).toContain('no answer from')
      expect((await bridge.answer('endless')).error.message).toContain('longer than')
      expect(await bridge.end()).toBe(0)
    } finally {
      await foreign.stop(true)
    }
  })

  test('it exits when nobody reads its output', async () => {
    const env = { CUBBY_URL: service.server.url, CUBBY_KEY: service.org.secretKey }
    const [command, ...words] = cubbyCommand()
    const child = spawn(command!, [...words, 'mcp'], {
      env: environment(env),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    try {
      const exited = once(child, 'exit')
      child.stdin.on('error', () => {})
      const ping = (id: number) => child.stdin.write(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`)
      ping(1)
      await once(child.stdout, 'data')
      child.stdout.destroy()
      // Its input stays open.
      await eventually('it exits', async () => {
        if (child.exitCode !== null) return true
        ping(2)
        await Bun.sleep(50)
        return undefined
      })
      expect((await exited)[0]).toBe(1)
    } finally {
      child.kill('SIGKILL')
    }
  })

  test('wrong usage is exit 2, without anything on standard output', async () => {
    const env = { CUBBY_URL: service.server.url, CUBBY_KEY: service.org.secretKey }
    const wrong: [string[], Record<string, string>, string][] = [
      [[], { CUBBY_URL: env.CUBBY_URL }, 'the API key is missing'],
      [['--db', 'A B'], env, '--db'],
      [[], { ...env, CUBBY_DB: 'A B' }, 'CUBBY_DB'],
      [[], { ...env, CUBBY_READ_ONLY: 'on' }, 'CUBBY_READ_ONLY is "on"; it takes 1 or 0'],
      [['--readonly'], env, '--readonly'],
      [['now'], env, 'one argument too many'],
    ]
    for (const [args, own, message] of wrong) {
      const { exitCode, stdout, stderr } = await runCubby(['mcp', ...args], { env: own })
      expect([exitCode, stdout]).toEqual([2, ''])
      expect(stderr).toContain(message)
    }
  })
})

test('many requests at once are all answered', async () => {
  const bridge = start()
  const ids = Array.from({ length: 300 }, (_, i) => i)
  bridge.send(...ids.map((id) => ({ jsonrpc: '2.0', id, method: 'tools/list', params: { _meta: requestMeta } })))
  expect(await bridge.end()).toBe(0)
  expect(bridge.lines.map((line) => JSON.parse(line).id).sort((a, b) => a - b)).toEqual(ids)
  for (const line of bridge.lines) expect(JSON.parse(line).result.resultType).toBe('complete')
})
