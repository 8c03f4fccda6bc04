import { describe, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { newTaskSecret } from '../../src/core/tasks/task-secret.ts'
import { parseAllow } from '../../src/push/allow.ts'
import {
  aRun,
  authority,
  comes,
  http,
  type Listener,
  type ListenOptions,
  listen,
  push,
  secret,
} from './push-fixture.ts'

const ok = (options?: ListenOptions): Promise<Listener> => listen(http(200, '{}'), options)

const headersOf = ({ received }: Listener): Record<string, string> =>
  Object.fromEntries(
    received
      .split('\r\n\r\n')[0]!
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )

const bodyOf = ({ received }: Listener): string => Buffer.from(received.split('\r\n\r\n')[1]!, 'latin1').toString()

describe('what a push sends', () => {
  test('POST to the path and query, exactly these headers, and the payload as it is stored', async () => {
    const target = await ok()
    const payload = '{ "n": 12345678901234567890,\n\t"é": "\\u00e9 🙂", "n": 1.0 }'
    const nowMs = Date.now()
    await push(
      `http://127.0.0.1:${target.port}/a%20b/c?d=%2F&e#f`,
      { nowMs },
      {
        authorization: 'Bearer abc',
        run: aRun({ payload, id: 'order-7', attempt: 12, lease: 'lease_xyz' }),
      },
    )
    expect(target.received.split('\r\n')[0]).toBe('POST /a%20b/c?d=%2F&e HTTP/1.1')
    expect(bodyOf(target)).toBe(payload)
    const { 'webhook-signature': signature, ...headers } = headersOf(target)
    expect(headers).toEqual({
      'accept-encoding': 'identity',
      authorization: 'Bearer abc',
      connection: 'close',
      'content-length': String(Buffer.byteLength(payload)),
      'content-type': 'application/json',
      'cubby-attempt': '12',
      'cubby-database': 'app',
      'cubby-lease': 'lease_xyz',
      'cubby-task': 'mail',
      host: `127.0.0.1:${target.port}`,
      'webhook-id': 'order-7',
      'webhook-timestamp': String(Math.floor(nowMs / 1000)),
    })
    expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
    await target.close()
  })

  test('no authorization unless it is declared', async () => {
    const target = await ok()
    await push(`http://127.0.0.1:${target.port}/`)
    expect(Object.keys(headersOf(target))).not.toContain('authorization')
    await target.close()
  })

  test('a signature that standardwebhooks accepts, and refuses for another body, secret or time', async () => {
    const target = await ok()
    const payload = '{"é":"🙂"}'
    await push(`http://127.0.0.1:${target.port}/`, {}, { run: aRun({ payload }) })
    const headers = headersOf(target)
    expect(new Webhook(secret).verify(payload, headers)).toEqual({ é: '🙂' })
    expect(() => new Webhook(secret).verify(`${payload} `, headers)).toThrow()
    expect(() => new Webhook(newTaskSecret()).verify(payload, headers)).toThrow()
    expect(() => new Webhook(secret).verify(payload, { ...headers, 'webhook-id': 'run_2' })).toThrow()
    const later = String(Number(headers['webhook-timestamp']) + 1)
    expect(() => new Webhook(secret).verify(payload, { ...headers, 'webhook-timestamp': later })).toThrow()
    await target.close()
  })

  test('with two secrets, both sign', async () => {
    const target = await ok()
    const secrets = [newTaskSecret(), newTaskSecret()]
    await push(`http://127.0.0.1:${target.port}/`, {}, { secrets })
    expect(headersOf(target)['webhook-signature']!.split(' ')).toHaveLength(2)
    for (const one of secrets) expect(new Webhook(one).verify(bodyOf(target), headersOf(target))).toEqual({ to: 'ada' })
    await target.close()
  })
})

describe('TLS', () => {
  test('certificate and Host of the name, whatever the address is', async () => {
    const target = await ok({ name: 'hook.example.com' })
    expect(await push(`https://hook.example.com:${target.port}/`)).toEqual({ status: 'succeeded', result: '{}' })
    expect(headersOf(target).host).toBe(`hook.example.com:${target.port}`)
    expect(target.serverName).toBe('hook.example.com')
    // The dot at the end is not part of the name in TLS.
    expect(await push(`https://hook.example.com.:${target.port}/`)).toEqual({ status: 'succeeded', result: '{}' })
    expect(target.serverName).toBe('hook.example.com')
    await target.close()
  })

  test('a certificate for another name, of a stranger, or for no address: nothing is sent', async () => {
    const target = await ok({ name: 'hook.example.com' })
    const failures = [
      await push(`https://other.example.com:${target.port}/`),
      await push(`https://hook.example.com:${target.port}/`, { ca: undefined }),
      await push(`https://127.0.0.1:${target.port}/`),
    ]
    for (const failure of failures) {
      expect(failure).toMatchObject({ status: 'failed', retry: true, error: { code: 'connection' } })
      expect((failure as { error: { message: string } }).error.message).toContain('certificate')
    }
    expect(target.received).toBe('')
    await target.close()
  })

  test('a literal address needs a certificate for it', async () => {
    const target = await ok({ name: '127.0.0.1' })
    expect(await push(`https://127.0.0.1:${target.port}/`)).toEqual({ status: 'succeeded', result: '{}' })
    expect(target.serverName || undefined).toBeUndefined()
    await target.close()
  })

  test('a target without TLS behind an https URL fails', async () => {
    const target = await ok()
    const failed = push(`https://hook.example.com:${target.port}/`)
    expect(await comes(() => target.open.size === 1)).toBe(true)
    for (const socket of target.open) socket.write(http(400, 'This is the plain port.'))
    expect(await failed).toMatchObject({ status: 'failed', error: { code: 'connection' } })
    expect(target.received).toBe('')
    await target.close()
  })
})

test('each push has a connection of its own, which is closed afterwards', async () => {
  const target = await ok()
  for (let i = 0; i < 5; i++) await push(`http://127.0.0.1:${target.port}/`)
  expect(target.connections).toBe(5)
  expect(await comes(() => target.open.size === 0)).toBe(true)
  await target.close()
})

test('variables of the environment change neither the way nor the check of certificates', async () => {
  const [proxy, plain, secure] = await Promise.all([ok(), ok(), ok({ name: 'hook.example.com' })])
  const env: Record<string, string> = {
    PATH: process.env.PATH!,
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_USE_ENV_PROXY: '1',
  }
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    env[name] = env[name.toLowerCase()] = `http://127.0.0.1:${proxy.port}`
  }
  const outcomeOf = async (url: string, ca?: string): Promise<unknown> => {
    const child = Bun.spawn([process.execPath, `${import.meta.dir}/push-once.ts`, JSON.stringify({ url, ca })], {
      env,
      stderr: 'ignore',
    })
    return JSON.parse(await child.stdout.text())
  }
  const outcomes = await Promise.all([
    outcomeOf(`http://127.0.0.1:${plain.port}/`),
    outcomeOf(`https://hook.example.com:${secure.port}/`, authority.certificate),
    outcomeOf(`https://hook.example.com:${secure.port}/`),
  ])
  expect(outcomes).toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }, { error: { code: 'connection' } }])
  expect(proxy.connections).toBe(0)
  await Promise.all([proxy.close(), plain.close(), secure.close()])
})

test('an IPv6 literal is connected to as it was checked', async () => {
  const target = await ok({ host: '::1' }).catch(() => undefined)
  if (target === undefined) return console.log('skipped: this machine has no IPv6')
  const url = `http://[::1]:${target.port}/`
  expect(await push(url, { allow: parseAllow('::1') })).toEqual({ status: 'succeeded', result: '{}' })
  expect(headersOf(target).host).toBe(`[::1]:${target.port}`)
  await target.close()
})
