import { describe, expect, test } from 'bun:test'
import { parseDeclaration, readDeclaration } from '../../../src/core/tasks/parse-declaration.ts'
import { cpuMsOf } from '../../cpu-time.ts'
import { refusal, refused } from '../refusal.ts'

const nowMs = Date.parse('2026-11-16T12:00:00Z')
const parseText = (text: string) => parseDeclaration(readDeclaration(text), nowMs)
const parse = (value: unknown) => parseText(JSON.stringify(value))
const parseCron = (cron: unknown, timezone?: unknown) => parse({ schedule: { cron, timezone } })

describe('defaults', () => {
  test('an empty text is {}: everything has its default', () => {
    const defaults = {
      ...{ url: null, authorization: null, keepsAuthorization: false, leaseSeconds: 30, attempts: 12 },
      ...{ backoffSeconds: 5, concurrency: null, keepSeconds: 604_800, paused: false, schedule: null, on: null },
    }
    expect(parseText('')).toEqual(defaults)
    expect(parseText(' {} ')).toEqual(defaults)
    expect(parse({ url: 'https://example.com/' })).toEqual({
      ...defaults,
      url: 'https://example.com/',
      concurrency: 10,
    })
  })

  test('every default is a value that may be sent', () => {
    const { keepsAuthorization, schedule, on, url, authorization, concurrency, ...sent } = parseText('')
    expect(parse(sent)).toEqual(parseText(''))
  })
})

describe('numbers', () => {
  const bounds: [field: string, least: number, most: number][] = [
    ['leaseSeconds', 1, 3_600],
    ['attempts', 1, 50],
    ['backoffSeconds', 1, 3_600],
    ['concurrency', 1, 1_000],
    ['keepSeconds', 60, 7_776_000],
  ]

  for (const [field, least, most] of bounds) {
    test(`${field} takes ${least} to ${most}, and nothing beside`, () => {
      for (const value of [least, most]) expect(parse({ [field]: value })).toMatchObject({ [field]: value })
      for (const value of [least - 1, most + 1, least + 0.5, String(least), null, true, [least], {}, -1, 1e300])
        expect(refused(() => parse({ [field]: value }))).toEqual(['invalid_request', field])
      const { message, hint } = refusal(() => parse({ [field]: most + 1 }))
      expect(message).toBe(`${field} is ${most + 1}; it takes an integer from ${least} to ${most}.`)
      expect(hint).toStartWith('Leave it out for ')
    })
  }

  test('with url, leaseSeconds takes at most 300', () => {
    const url = 'https://example.com/'
    expect(parse({ url, leaseSeconds: 300 }).leaseSeconds).toBe(300)
    const { code, field, message } = refusal(() => parse({ url, leaseSeconds: 301 }))
    expect([code, field]).toEqual(['invalid_request', 'leaseSeconds'])
    expect(message).toContain('for a task with url it takes an integer from 1 to 300')
  })

  test('paused takes true and false', () => {
    expect([parse({ paused: true }).paused, parse({ paused: false }).paused]).toEqual([true, false])
    for (const paused of [null, 1, 'true', {}])
      expect(refused(() => parse({ paused }))).toEqual(['invalid_request', 'paused'])
  })
})

describe('authorization', () => {
  test('takes 1 to 1,024 printable ASCII characters', () => {
    for (const authorization of ['x', 'Bearer a b~', ' ', '*****', '***', 'x'.repeat(1_024)])
      expect(parse({ authorization })).toMatchObject({ authorization, keepsAuthorization: false })
    for (const authorization of ['', 'x'.repeat(1_025), 'é', 'a\nb', 'a\tb', '\u007f', null, 1, {}, ['x']])
      expect(refused(() => parse({ authorization }))).toEqual(['invalid_request', 'authorization'])
  })

  test('a wrong one is not repeated in the error', () => {
    expect(refusal(() => parse({ authorization: 'Bearer höchst geheim' })).message).not.toContain('geheim')
  })

  test('**** keeps the present one', () => {
    expect(parse({ authorization: '****' })).toMatchObject({ authorization: null, keepsAuthorization: true })
  })
})

describe('url', () => {
  test('is kept as it was sent', () => {
    for (const url of [
      'https://example.com',
      'HTTPS://Example.com:8443/a?b=c#d',
      'https://exämple.com/ü',
      'http://10.0.0.1/x',
    ])
      expect(parse({ url }).url).toBe(url)
  })

  test('what is no URL is invalid_request', () => {
    const wrong = [
      '',
      'example.com',
      '/hook',
      'https://',
      ' https://example.com',
      'https://exa\nmple.com/',
      'https://e/\ud800',
    ]
    for (const url of [...wrong, null, 1, {}, []])
      expect(refused(() => parse({ url }))).toEqual(['invalid_request', 'url'])
    expect(parse({ url: `https://e/${'x'.repeat(2_038)}` }).url).toHaveLength(2_048)
    expect(refused(() => parse({ url: `https://e/${'x'.repeat(2_039)}` }))).toEqual(['invalid_request', 'url'])
  })

  test('another scheme, a user or a password is push_target_refused', () => {
    for (const url of [
      'ftp://example.com/',
      'javascript:alert(1)',
      'file:///etc/passwd',
      'https://u@example.com/',
      'https://:p@example.com/',
      'http://u:p@10.0.0.1/',
    ])
      expect(refused(() => parse({ url }))).toEqual(['push_target_refused', 'url'])
    expect(refusal(() => parse({ url: 'https://ada:geheim@example.com/' })).message).not.toContain('geheim')
  })
})

describe('unknown and doubled fields', () => {
  test('are refused by name', () => {
    expect(refused(() => parse({ attempt: 3 }))).toEqual(['invalid_request', 'attempt'])
    expect(refusal(() => parse({ lease_seconds: 3 })).hint).toBe('Write it as "leaseSeconds".')
    for (const field of ['db', 'task', 'status', 'secret', 'oldestRunAt', 'createdAt', 'updatedAt', 'ifUpdatedAt'])
      expect(refused(() => parse({ [field]: 1 }))).toEqual(['invalid_request', field])
    expect(refused(() => parse({ schedule: { every: 60, nextRunAt: 1 } }))).toEqual([
      'invalid_request',
      'schedule.nextRunAt',
    ])
    expect(refused(() => parseText('{"attempts":1,"\\u0061ttempts":2}'))).toEqual(['invalid_request', 'attempts'])
    expect(refused(() => parseText('{"schedule":{"every":1,"every":2}}'))).toEqual([
      'invalid_request',
      'schedule.every',
    ])
    expect(refused(() => parseText('{"schedule":{"every":1},"schedule":{"every":1}}'))).toEqual([
      'invalid_request',
      'schedule',
    ])
  })

  test('what is not a JSON object is refused', () => {
    expect(refused(() => parseText('[]'))).toEqual(['invalid_request', undefined])
    expect(refused(() => parseText('{'))).toEqual(['invalid_json', undefined])
    expect(refused(() => parseText('null'))).toEqual(['invalid_request', undefined])
  })
})

describe('on', () => {
  test('names a table, and which writes of it; by default all', () => {
    expect(parse({ on: { table: 'orders' } }).on).toEqual({ table: 'orders', ops: ['put', 'delete', 'expire'] })
    expect(parse({ on: { table: 'orders', ops: ['expire', 'put'] } }).on).toEqual({
      table: 'orders',
      ops: ['expire', 'put'],
    })
    expect(parse({}).on).toBeNull()
  })

  test('everything else is refused by its name', () => {
    const refusals: [on: unknown, code: string, field: string][] = [
      [null, 'invalid_request', 'on'],
      ['orders', 'invalid_request', 'on'],
      [['orders'], 'invalid_request', 'on'],
      [{}, 'invalid_request', 'on.table'],
      [{ table: null }, 'invalid_name', 'on.table'],
      [{ table: 'Orders' }, 'invalid_name', 'on.table'],
      [{ table: '_buckets' }, 'reserved_name', 'on.table'],
      [{ table: { name: 'a' } }, 'invalid_name', 'on.table'],
      [{ table: 'a', op: ['put'] }, 'invalid_request', 'on.op'],
      [{ table: 'a', ops: [] }, 'invalid_request', 'on.ops'],
      [{ table: 'a', ops: 'put' }, 'invalid_request', 'on.ops'],
      [{ table: 'a', ops: null }, 'invalid_request', 'on.ops'],
      [{ table: 'a', ops: {} }, 'invalid_request', 'on.ops'],
      [{ table: 'a', ops: ['put', 'delete', 'expire', 'put'] }, 'invalid_request', 'on.ops'],
      [{ table: 'a', ops: ['put', 'patch'] }, 'invalid_request', 'on.ops[1]'],
      [{ table: 'a', ops: [['put']] }, 'invalid_request', 'on.ops[0]'],
      [{ table: 'a', ops: ['put', 'put'] }, 'invalid_request', 'on.ops[1]'],
    ]
    for (const [on, code, field] of refusals) expect(refused(() => parse({ on }))).toEqual([code, field] as never)
    const twice = [
      ['{"on":{"table":"a","table":"b"}}', 'on.table'],
      ['{"on":{"table":"a"},"on":{"table":"a"}}', 'on'],
    ]
    for (const [text, field] of twice) expect(refused(() => parseText(text!))).toEqual(['invalid_request', field!])
  })
})

describe('the payload of a schedule', () => {
  test('is kept as it was sent, to the letter', () => {
    const payload = '{ "b": 1.0,\n "a" : 12345678901234567890, "a": "\\u00e9" }'
    expect(parseText(`{"schedule": {"payload": ${payload} , "every": 60}}`).schedule).toEqual({ every: 60, payload })
    expect(parseText('{"schedule":{"every":60}}').schedule).toEqual({ every: 60, payload: '{}' })
  })

  test('follows the rules of data', () => {
    const fill = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`
    const withPayload = (payload: string) => parseText(`{"schedule":{"every":60,"payload":${payload}}}`)
    expect(withPayload(fill(409_600)).schedule!.payload).toHaveLength(409_600)
    expect(refused(() => withPayload(fill(409_601)))).toEqual(['record_too_large', 'schedule.payload'])
    expect(refusal(() => withPayload(fill(409_601))).hint).not.toContain('range keys')
    const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    expect(withPayload(nested(64)).schedule!.payload).toBe(nested(64))
    expect(refused(() => withPayload(nested(65)))).toEqual(['invalid_request', 'schedule.payload'])
    for (const payload of ['null', '1', '"a"', '[]'])
      expect(refused(() => withPayload(payload))).toEqual(['invalid_request', 'schedule.payload'])
  })
})

describe('schedules', () => {
  test('every takes 1 to 31,536,000 seconds, and no timezone', () => {
    for (const every of [1, 31_536_000])
      expect(parse({ schedule: { every } }).schedule).toEqual({ every, payload: '{}' })
    for (const every of [0, 31_536_001, 1.5, '60', null, true, {}])
      expect(refused(() => parse({ schedule: { every } }))).toEqual(['invalid_schedule', 'schedule.every'])
    expect(refused(() => parse({ schedule: { every: 60, timezone: 'UTC' } }))).toEqual([
      'invalid_schedule',
      'schedule.timezone',
    ])
  })

  test('it is one of the two forms', () => {
    expect(refused(() => parse({ schedule: {} }))).toEqual(['invalid_schedule', 'schedule'])
    expect(refused(() => parse({ schedule: { every: 60, cron: '* * * * *' } }))).toEqual([
      'invalid_schedule',
      'schedule.cron',
    ])
    for (const schedule of [null, 'daily', 60, [], true])
      expect(refused(() => parse({ schedule }))).toEqual(['invalid_schedule', 'schedule'])
    for (const cron of [null, 5, {}, ['* * * * *']])
      expect(refused(() => parseCron(cron))).toEqual(['invalid_schedule', 'schedule.cron'])
  })

  for (const cron of [
    '* * * * *',
    '*/15 0-6 1,15 * mon-fri',
    '0 6 * JAN,jul Sun',
    '  5   4\t* * * ',
    '00 07 01 01 *',
    '0-59/59 0 * * *',
    '*/60 */24 */31 */12 */7',
    '1-1 2,2 * * 0-7',
    '*,5 * * * *',
    '0 0 29 2 *',
    '0 0 31 1-12 *',
    '0 0 * * sat-sun',
    '0 0 30 2 mon',
  ]) {
    test(`${JSON.stringify(cron)} is taken, and shown as it was sent`, () => {
      expect(parseCron(cron).schedule).toEqual({ cron, timezone: 'UTC', payload: '{}' })
    })
  }

  for (const cron of [
    ...['', '*', '* * * *', '* * * * * *', '0 0 6 * * * *', '@daily', '@every 1h', '@reboot', 'every day'],
    ...['5/15 * * * *', '* 5/2 * * *', '*/0 * * * *', '*/61 * * * *', '*/-5 * * * *', '*/1.5 * * * *', '*/ * * * *'],
    ...['60 * * * *', '* 24 * * *', '* * 0 * *', '* * 32 * *', '* * * 0 *', '* * * 13 *', '* * * * 8', '-1 * * * *'],
    ...[
      '10-5 * * * *',
      '1-2-3 * * * *',
      '- * * * *',
      '1- * * * *',
      ', * * * *',
      '1, * * * *',
      '1,,2 * * * *',
      '*-5 * * * *',
    ],
    ...[
      '* * L * *',
      '* * * * 5L',
      '* * * * fri#2',
      '* * 15W * *',
      '* * LW * *',
      '* * ? * *',
      '* * * * ?',
      '* * * * +mon',
    ],
    ...[
      '* * * * fri-mon',
      '* * * * monday',
      '* * * january *',
      '* * mon * *',
      'jan * * * *',
      '* * * mon *',
      '* * * * jan',
    ],
    ...[
      '0x5 * * * *',
      '1e1 * * * *',
      '٣ * * * *',
      '005 * * * *',
      '*\u00a0* * * *',
      '* * * *\n*',
      '** * * * *',
      '*5 * * * *',
    ],
    ...['~ * * * *', 'H * * * *', '* * * * * UTC', 'TZ=UTC * * * * *', `${'1,'.repeat(256)}1 * * * *`],
  ]) {
    test(`${JSON.stringify(cron.slice(0, 40))} is malformed`, () => {
      expect(refused(() => parseCron(cron))).toEqual(['invalid_schedule', 'schedule.cron'])
    })
  }

  test('the error names the part that is wrong, and says how to write it', () => {
    const { message, hint } = refusal(() => parseCron('0 6 * * 1,fryday'))
    expect(message).toBe('schedule.cron has "fryday" as its day of week, which is malformed.')
    expect(hint).toBe('Use 0 to 7 or sun to sat, with *, lists (1,15), ranges (1-5) and steps (*/15).')
  })

  test('one that is never due is refused', () => {
    for (const cron of ['0 0 30 2 *', '0 0 31 4,6,9,11 *', '*/5 * 30-31 feb *', '0 0 31 feb */2']) {
      expect(refused(() => parseCron(cron))).toEqual(['invalid_schedule', 'schedule.cron'])
      expect(refusal(() => parseCron(cron)).message).toContain('never due')
    }
  })

  test('timezone is the IANA name of a time zone', () => {
    for (const timezone of [
      'UTC',
      'Europe/Berlin',
      'America/Argentina/Buenos_Aires',
      'Etc/GMT+5',
      'Asia/Calcutta',
      'Asia/Kolkata',
    ])
      expect(parseCron('0 6 * * *', timezone).schedule).toMatchObject({ timezone })
    for (const timezone of [
      '',
      'Mars/Olympus',
      '+02:00',
      'UTC+2',
      'Europe',
      'Europe/Berlin ',
      'Local',
      '../etc/passwd',
      null,
      2,
      {},
    ])
      expect(refused(() => parseCron('0 6 * * *', timezone))).toEqual(['invalid_schedule', 'schedule.timezone'])
  })
})

test('a body of 1 MiB with a hundred thousand members is refused in a moment', () => {
  const bodyOf = (members: number): string => `{${Array.from({ length: members }, (_, i) => `"m${i}":1`).join(',')}}`
  const refuse = (text: string): void => expect(refused(() => parseText(text))).toEqual(['invalid_request', 'm0'])
  const [fewMembers, manyMembers] = [bodyOf(2_000), bodyOf(100_000)]
  const [few, many] = [cpuMsOf(() => refuse(fewMembers)), cpuMsOf(() => refuse(manyMembers))]
  console.log(`a hundred thousand members were refused in ${many.toFixed(1)} ms, two thousand in ${few.toFixed(1)} ms`)
  // 50 times as many: if each were compared with each, it would be 2,500 times as long.
  expect(many / Math.max(few, 0.1)).toBeLessThan(500)
})
