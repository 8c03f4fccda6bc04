import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type CurlRequest, curlLine } from '../../src/openapi/curl.ts'
import { json, literal, python, typescript } from '../../src/openapi/samples/literal.ts'

describe('curl lines', () => {
  test('a shell reads the words that the request needs', () => {
    const headerValue = fc.string({ unit: 'grapheme-ascii', minLength: 1 }).filter((text) => text.trim() === text)
    const request: fc.Arbitrary<CurlRequest> = fc.record({
      method: fc.constantFrom('GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS'),
      target: fc
        .array(
          fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
          { minLength: 1, maxLength: 4 },
        )
        .map((keys) => `/v1/${keys.map(encodeURIComponent).join('/').replaceAll("'", '%27')}`),
      headers: fc.dictionary(fc.constantFrom('If-Match', 'If-None-Match', 'Prefer'), headerValue),
      body: fc.option(fc.jsonValue(), { nil: undefined }),
      withKey: fc.boolean(),
    })
    const wordsOf = ({ method, target, headers, body, withKey }: CurlRequest): string[] => [
      ...(method === 'GET' ? [] : method === 'HEAD' ? ['-I'] : ['-X', method]),
      `http://cubby${target}`,
      ...(withKey ? ['-H', 'Authorization: Bearer svc_1'] : []),
      ...(body === undefined ? [] : ['-H', 'Content-Type: application/json']),
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      ...(body === undefined ? [] : ['-d', literal(body, json, 1, 4)]),
    ]
    fc.assert(
      fc.property(fc.array(request, { minLength: 20, maxLength: 20 }), (requests) => {
        // One shell for all: it prints the words of each command, each with a zero after it.
        const script = `curl() { printf '%s\\0' "$#" "$@"; }\n${requests.map(curlLine).join('\n')}`
        const env = { ...process.env, CUBBY_URL: 'http://cubby', CUBBY_KEY: 'svc_1' }
        const { stdout } = Bun.spawnSync(['sh', '-c', script], { env })
        const words = requests.map(wordsOf).flatMap((given) => [String(given.length), ...given])
        expect(stdout.toString().split('\0').slice(0, -1)).toEqual(words)
      }),
      { numRuns: 20 },
    )
  })

  test('a body that does not fit into a line has one member a line', () => {
    const body = { hashKey: 'bob', data: { status: 'open', placedAt: '2026-01-07T10:00:00Z', note: "it's" } }
    expect(curlLine({ method: 'PUT', target: '/v1/app/orders', headers: {}, body, withKey: true })).toBe(
      `curl -X PUT "$CUBBY_URL/v1/app/orders" \\
  -H "Authorization: Bearer $CUBBY_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{
    "hashKey": "bob",
    "data": {
      "status": "open",
      "placedAt": "2026-01-07T10:00:00Z",
      "note": "it'\\''s"
    }
  }'`,
    )
  })
})

describe('literals', () => {
  test('in JSON and TypeScript they are the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(JSON.stringify(JSON.parse(literal(value, json)))).toBe(text)
        // `__proto__: …` in an object literal sets the prototype.
        if (text.includes('__proto__')) return
        const read = new Function(`return ${literal(value, typescript)}`)()
        expect(JSON.stringify(read)).toBe(text)
      }),
    )
  })

  test('Python has its own words', () => {
    expect(literal({ a: [true, false, null, 'it"s', 1.5] }, python)).toBe('{"a": [True, False, None, "it\\"s", 1.5]}')
  })
})
