import { describe, expect, setSystemTime, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { PushError, verifyPush } from '../src/webhooks.ts'

// The signatures are those of `standardwebhooks`, which others use to verify ours.

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`
const secret = newSecret()
const payload = { to: 'ada', text: 'Grüße 😀' }
const body = JSON.stringify(payload)

/** The headers of a push, made now. */
const signed = ({ secrets = [secret], id = 'run_1', text = body, at = new Date() } = {}): Record<string, string> => ({
  'content-type': 'application/json',
  'webhook-id': id,
  'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
  'webhook-signature': secrets.map((one) => new Webhook(one).sign(id, at, text)).join(' '),
  'cubby-database': 'app',
  'cubby-task': 'mail',
  'cubby-attempt': '2',
  'cubby-lease': 'lease_1',
})

const push = { id: 'run_1', task: 'mail', database: 'app', attempt: 2, lease: 'lease_1', payload }

const request = (headers: Record<string, string>, text: string | ReadableStream = body) =>
  new Request('https://example.com/mail', { method: 'POST', headers, body: text })

const faultOf = async (verifying: Promise<unknown>): Promise<{ fault: string; message: string }> => {
  try {
    await verifying
  } catch (error) {
    expect(error).toBeInstanceOf(PushError)
    return error as PushError
  }
  throw new Error('it was accepted')
}

describe('accepts', () => {
  test('a Web request', async () => {
    expect(await verifyPush(request(signed()), secret)).toEqual(push)
  })

  test.each([
    ['text', body],
    ['a Buffer', Buffer.from(body)],
    ['a part of a larger buffer', new TextEncoder().encode(`xx${body}`).subarray(2)],
    ['an ArrayBuffer', new TextEncoder().encode(body).buffer],
  ])('headers and body of a framework of Node: %s', async (_, raw) => {
    expect(await verifyPush({ headers: signed(), body: raw }, secret)).toEqual(push)
  })

  test('headers in any case, and Headers', async () => {
    const upper = Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), value]))
    expect(await verifyPush({ headers: { ...upper, host: undefined, via: ['a', 'b'] }, body }, secret)).toEqual(push)
    expect(await verifyPush({ headers: new Headers(signed()), body }, secret)).toEqual(push)
  })

  test('any of several secrets, and any of several signatures', async () => {
    const other = newSecret()
    expect(await verifyPush(request(signed()), [other, secret])).toEqual(push)
    expect(await verifyPush(request(signed({ secrets: [other, secret] })), secret)).toEqual(push)
    const headers = signed()
    headers['webhook-signature'] = `v1a,abc v1,not-base64! v1, ${headers['webhook-signature']}`
    expect(await verifyPush(request(headers), secret)).toEqual(push)
  })

  test('a secret without its prefix, as the library does', async () => {
    expect(await verifyPush(request(signed()), secret.slice('whsec_'.length))).toEqual(push)
  })

  test('a body in many chunks', async () => {
    const parts = [...body].map((character) => new TextEncoder().encode(character))
    const stream = new ReadableStream({
      pull: (controller) => {
        const part = parts.shift()
        if (part) controller.enqueue(part)
        else controller.close()
      },
    })
    expect(await verifyPush(request(signed(), stream), secret)).toEqual(push)
  })
})

describe('refuses, and says why', () => {
  test('a body that was changed, and a signature with another secret', async () => {
    const changed = body.replace('ada', 'eve')
    expect(await faultOf(verifyPush(request(signed(), changed), secret))).toMatchObject({ fault: 'signature' })
    const other = signed({ secrets: [newSecret()] })
    const { fault, message } = await faultOf(verifyPush(request(other), secret))
    expect(fault).toBe('signature')
    expect(message).toBe('No signature was made with this secret, or the body was changed on the way.')
  })

  test('a signature that belongs to another run or time', async () => {
    for (const name of ['webhook-id', 'webhook-timestamp'] as const) {
      const headers = signed()
      headers[name] = name === 'webhook-id' ? 'run_2' : `${Number(headers[name]) - 1}`
      expect(await faultOf(verifyPush(request(headers), secret))).toMatchObject({ fault: 'signature' })
    }
  })

  test('part of the signature, and the signature with more behind it', async () => {
    const headers = signed()
    const whole = Buffer.from(headers['webhook-signature']!.slice(3), 'base64')
    for (const bytes of [whole.subarray(0, 31), whole.subarray(1), Buffer.concat([whole, whole]), Buffer.alloc(0)]) {
      headers['webhook-signature'] = `v1,${bytes.toString('base64')}`
      expect(await faultOf(verifyPush(request(headers), secret))).toMatchObject({ fault: 'signature' })
    }
  })

  test('every single bit of the signature counts', async () => {
    const headers = signed()
    const whole = Buffer.from(headers['webhook-signature']!.slice(3), 'base64')
    for (const at of [0, 1, 15, 30, 31]) {
      const bytes = Buffer.from(whole)
      bytes[at] = bytes[at]! ^ 1
      headers['webhook-signature'] = `v1,${bytes.toString('base64')}`
      expect(await faultOf(verifyPush(request(headers), secret))).toMatchObject({ fault: 'signature' })
    }
  })

  test.each([
    [-300, undefined],
    [300, undefined],
    [-301, 'webhook-timestamp is 301 s old; it may differ by 300 s. Is the clock right?'],
    [301, 'webhook-timestamp lies 301 s ahead; it may differ by 300 s. Is the clock right?'],
  ])('a time that differs by %p s', async (seconds, message) => {
    const now = new Date('2026-05-06T07:08:09Z')
    setSystemTime(now)
    try {
      const verifying = verifyPush(request(signed({ at: new Date(+now + seconds * 1000) })), secret)
      if (message === undefined) expect(await verifying).toEqual(push)
      else expect(await faultOf(verifying)).toMatchObject({ fault: 'timestamp', message })
    } finally {
      setSystemTime()
    }
  })

  test('the tolerance can be chosen', async () => {
    const headers = signed({ at: new Date(Date.now() - 60_000) })
    expect(await faultOf(verifyPush(request(headers), secret, { toleranceSeconds: 30 }))).toMatchObject({
      fault: 'timestamp',
    })
  })

  test.each(Object.keys(signed()).filter((name) => name !== 'content-type'))('no header %s', async (name) => {
    const { [name]: _, ...headers } = signed()
    const missing = { fault: 'header', message: `The header ${name} is missing.` }
    expect(await faultOf(verifyPush(request(headers), secret))).toMatchObject(missing)
  })

  test.each([
    ['webhook-id', 'a.b'],
    ['webhook-timestamp', '1e3'],
    ['webhook-timestamp', '-5'],
    ['cubby-attempt', 'x'],
    ['cubby-task', 'Mail'],
  ])('a malformed header %s: %s', async (name, value) => {
    const malformed = { fault: 'header', message: `The header ${name} is malformed.` }
    expect(await faultOf(verifyPush(request({ ...signed(), [name]: value }), secret))).toMatchObject(malformed)
  })

  test.each(['[1]', 'null', '5', '{', ''])('a signed body that is no JSON object: %s', async (text) => {
    const { fault, message } = await faultOf(verifyPush({ headers: signed({ text }), body: text }, secret))
    expect([fault, message]).toEqual(['body', 'The body is not a JSON object.'])
  })

  test('a body that a framework has parsed, or read', async () => {
    const parsed = { headers: signed(), body: payload as never }
    expect((await faultOf(verifyPush(parsed, secret))).message).toMatch(/parsed already.*express\.raw/)
    expect((await faultOf(verifyPush({ headers: signed() } as never, secret))).message).toContain('is missing')
    const read = request(signed())
    await read.text()
    expect((await faultOf(verifyPush(read, secret))).message).toContain('was read already')
  })

  test('a body that never ends is not read to its end', async () => {
    let chunks = 0
    const endless = new ReadableStream({
      pull: (controller) => {
        chunks++
        controller.enqueue(new Uint8Array(100_000))
      },
    })
    const { fault, message } = await faultOf(verifyPush(request(signed(), endless), secret))
    expect([fault, message]).toEqual(['body', 'The body is larger than 1048576 bytes: no push is.'])
    expect(chunks).toBeLessThan(20)
  })

  test('a secret that is missing or malformed: a TypeError, since the request is not at fault', async () => {
    for (const wrong of [undefined, '', 'whsec_', 'whsec_ä', [], [secret, undefined]]) {
      const verifying = verifyPush(request(signed()), wrong as string)
      const error = await verifying.then(
        () => undefined,
        (error) => error,
      )
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toMatch(/^secret is (missing|malformed); it takes/)
      expect(error.message).not.toContain(secret)
    }
  })
})
