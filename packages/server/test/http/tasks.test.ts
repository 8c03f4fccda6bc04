import { describe, expect, test } from 'bun:test'
import { type Answer, eventually, type Json } from '../harness.ts'
import { createKey, freshName, makeTable, ok, refused, useService } from './service.ts'

// Declarations of tasks through their own routes: the fields, the conditions, and the rules of tables that tasks follow too.

const service = useService()
const weekMs = 7 * 24 * 60 * 60 * 1000
const secretForm = /^whsec_[0-9A-Za-z+/]{43}=$/
/** A name that never resolves, so that it is accepted without a look at its addresses. */
const target = 'https://hooks.invalid/mail'

const pathOf = (task: string, db = 'app'): string => `/v1/${db}/_tasks/${task}`

interface Made {
  name: string
  path: string
  declared: Json
}

const declare = async (declaration?: Json, name = freshName('task'), db = 'app', api = service.api): Promise<Made> => {
  const path = pathOf(name, db)
  return { name, path, declared: ok(await api.put(path, declaration), 201) }
}

/** A task as it is later: without what only the first answer has. */
const later = ({ secret: _, ...task }: Json): Json => task

const fields = [
  ...['db', 'task', 'url', 'authorization', 'leaseSeconds', 'attempts', 'backoffSeconds', 'concurrency'],
  ...['keepSeconds', 'paused', 'schedule', 'oldestRunAt', 'status', 'createdAt', 'updatedAt'],
]

describe('declare', () => {
  test('without a body: 201, every field in order, with its default', async () => {
    const name = freshName('task')
    const answer = await service.api.raw('PUT', pathOf(name))
    const task = ok(answer, 201)
    expect(Object.keys(task)).toEqual(fields)
    expect(task).toEqual({
      ...{ db: 'app', task: name, url: null, authorization: null, leaseSeconds: 30, attempts: 12, backoffSeconds: 5 },
      ...{ concurrency: null, keepSeconds: 604_800, paused: false, schedule: null, oldestRunAt: null },
      ...{ status: 'active', createdAt: task.createdAt, updatedAt: task.updatedAt },
    })
    expect(Math.abs(task.createdAt - Date.now())).toBeLessThan(60_000)
    expect(answer.headers.get('etag')).toBe(`"${task.updatedAt}"`)
  })

  test('again: 200, the declaration replaced as a whole, the version raised, createdAt kept', async () => {
    const { path, declared } = await declare({ attempts: 3, leaseSeconds: 60, concurrency: 4, keepSeconds: 60 })
    expect(declared).toMatchObject({ attempts: 3, leaseSeconds: 60, concurrency: 4, keepSeconds: 60 })
    const again = ok(await service.api.put(path, { backoffSeconds: 9 }))
    expect(again).toEqual({
      ...declared,
      ...{ attempts: 12, leaseSeconds: 30, concurrency: null, keepSeconds: 604_800, backoffSeconds: 9 },
      updatedAt: again.updatedAt,
    })
    expect(again.updatedAt).toBeGreaterThan(declared.updatedAt)
    expect(ok(await service.api.get(path))).toEqual(again)
  })

  test('a wrong field is named, and nothing is declared', async () => {
    const path = pathOf(freshName('task'))
    const wrong: [Json, string, string][] = [
      [{ attempts: 0 }, 'invalid_request', 'attempts'],
      [{ url: target, leaseSeconds: 301 }, 'invalid_request', 'leaseSeconds'],
      [{ attempt: 1 }, 'invalid_request', 'attempt'],
      [{ url: 'mailto:a@example.com' }, 'push_target_refused', 'url'],
      [{ url: 'https://127.0.0.1/hook' }, 'push_target_refused', 'url'],
      [{ url: 'http://hooks.invalid/' }, 'push_target_refused', 'url'],
      [{ schedule: { cron: '@daily' } }, 'invalid_schedule', 'schedule.cron'],
      [{ schedule: { cron: '0 0 30 2 *' } }, 'invalid_schedule', 'schedule.cron'],
      [{ schedule: { cron: '0 0 * * *', timezone: 'Moon' } }, 'invalid_schedule', 'schedule.timezone'],
      [{ schedule: { every: 0 } }, 'invalid_schedule', 'schedule.every'],
      [{ schedule: { every: 1, payload: [] } }, 'invalid_request', 'schedule.payload'],
      [{ authorization: '****' }, 'invalid_request', 'authorization'],
    ]
    for (const [declaration, code, field] of wrong) refused(await service.api.put(path, declaration), 400, code, field)
    refused(await service.api.put(`${path}?a=1`, {}), 400, 'invalid_request', 'a')
    refused(await service.api.put(path, '[]'), 400, 'invalid_request')
    refused(await service.api.put(path, '{'), 400, 'invalid_json')
    refused(await service.api.put(path, 'a: 1', { 'content-type': 'text/yaml' }), 415, 'unsupported_media_type')
    refused(await service.api.get(path), 404, 'task_not_found')
  })

  test('the body may have 1 MiB: white space fills it, one more byte is body_too_large', async () => {
    const path = pathOf(freshName('task'))
    ok(await service.api.put(path, `{}${' '.repeat(1_048_574)}`), 201)
    refused(await service.api.put(path, `{}${' '.repeat(1_048_575)}`), 413, 'body_too_large')
    const payload = (bytes: number): string => `{"schedule":{"every":60,"payload":{"a":"${'x'.repeat(bytes - 8)}"}}}`
    expect(ok(await service.api.put(path, payload(409_600))).schedule.payload.a).toHaveLength(409_592)
    refused(await service.api.put(path, payload(409_601)), 413, 'record_too_large', 'schedule.payload')
  })

  test('of racing declarations of one name one creates it', async () => {
    const path = pathOf(freshName('task'))
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => service.api.put(path, { attempts: i + 1 })))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201])
    const versions = answers.map(({ body }) => body.updatedAt)
    expect(new Set(versions).size).toBe(12)
    const last = answers.find(({ body }) => body.updatedAt === Math.max(...versions))!
    expect(ok(await service.api.get(path))).toEqual(last.body)
  })
})

describe('authorization', () => {
  test('is shown as ****, which keeps it; left out, it is gone', async () => {
    const { path, declared } = await declare({ url: target, authorization: 'Bearer geheim' })
    expect(declared.authorization).toBe('****')
    for (const answer of [
      await service.api.get(path),
      await service.api.get('/v1/app/_tasks?limit=1000'),
      await service.api.put(path, { url: target, authorization: '****', attempts: 2 }),
    ]) {
      ok(answer)
      expect(answer.text).not.toContain('geheim')
    }
    expect(ok(await service.api.get(path))).toMatchObject({ authorization: '****', attempts: 2 })
    expect(ok(await service.api.put(path, { url: target })).authorization).toBeNull()
    const { message } = refused(
      await service.api.put(path, { url: target, authorization: '****' }),
      400,
      'invalid_request',
      'authorization',
    )
    expect(message).toContain('the task has none')
  })
})

describe('the secret', () => {
  test('is shown once: in the answer to the PUT that first declares a url', async () => {
    const { path, declared } = await declare()
    expect(declared).not.toHaveProperty('secret')
    const pushed = ok(await service.api.put(path, { url: target }))
    expect(pushed.secret).toMatch(secretForm)
    expect(Object.keys(pushed)).toEqual([...fields, 'secret'])
    expect(ok(await service.api.get(path))).toEqual(later(pushed))
    // It survives the removal of the url.
    for (const declaration of [{ url: target }, {}, { url: 'https://other.invalid/' }])
      expect(ok(await service.api.put(path, declaration))).not.toHaveProperty('secret')
    ok(await service.api.delete(path))
    expect(ok(await service.api.post(`${path}/restore`))).not.toHaveProperty('secret')
  })

  test('of a new task under the name of a deleted one is another', async () => {
    const { path, declared } = await declare({ url: target })
    ok(await service.api.delete(path))
    const { secret } = ok(await service.api.put(path, { url: target }), 201)
    expect(secret).toMatch(secretForm)
    expect(secret).not.toBe(declared.secret)
  })

  test('POST …/secret creates a new one each time, and leaves the version', async () => {
    const { path, declared } = await declare({ url: target })
    const secrets = [
      declared.secret,
      ok(await service.api.post(`${path}/secret`)).secret,
      ok(await service.api.post(`${path}/secret`, {})).secret,
      ok(await service.api.post(`${path}/secret`, { revokeOld: true })).secret,
    ]
    for (const secret of secrets) expect(secret).toMatch(secretForm)
    expect(new Set(secrets).size).toBe(4)
    expect(ok(await service.api.get(path))).toEqual(later(declared))
    refused(await service.api.post(`${path}/secret`, { revokeOld: 1 }), 400, 'invalid_request', 'revokeOld')
    refused(await service.api.post(`${path}/secret`, { revoke: true }), 400, 'invalid_request', 'revoke')
    refused(await service.api.post(`${path}/secret`, undefined, { 'if-match': '*' }), 400, 'invalid_request')
    refused(await service.api.post(`${pathOf('nowhere')}/secret`), 404, 'task_not_found')
    // A url that comes later finds the secret.
    const { path: pull } = await declare()
    ok(await service.api.post(`${pull}/secret`))
    expect(ok(await service.api.put(pull, { url: target }))).not.toHaveProperty('secret')
  })
})

describe('schedules', () => {
  test('the answer has nextRunAt: the next multiple of every, the next time of cron', async () => {
    const { declared } = await declare({ schedule: { every: 3_600 } })
    expect(Object.keys(declared.schedule)).toEqual(['every', 'payload', 'nextRunAt'])
    expect(declared.schedule).toMatchObject({ every: 3_600, payload: {} })
    const { nextRunAt } = declared.schedule
    expect(nextRunAt % 3_600_000).toBe(0)
    expect(nextRunAt).toBeGreaterThan(declared.updatedAt)
    expect(nextRunAt - declared.updatedAt).toBeLessThanOrEqual(3_600_000)
    const yearly = (await declare({ schedule: { cron: '30 6 1 jan *', timezone: 'Europe/Berlin' } })).declared.schedule
    expect(Object.keys(yearly)).toEqual(['cron', 'timezone', 'payload', 'nextRunAt'])
    expect(new Date(yearly.nextRunAt).toISOString()).toMatch(/^\d{4}-01-01T05:30:00\.000Z$/)
    expect((await declare({ schedule: { cron: '0 0 * * *' } })).declared.schedule.timezone).toBe('UTC')
  })

  test('the payload comes back as it was sent', async () => {
    const payload = '{"b" : 1.0,"a":12345678901234567890 }'
    const path = pathOf(freshName('task'))
    for (const answer of [
      await service.api.put(path, `{"schedule":{"payload":${payload},"every":31536000}}`),
      await service.api.get(path),
      await service.api.get('/v1/app/_tasks?limit=1000'),
    ]) {
      expect(answer.status).toBeLessThan(300)
      expect(answer.text).toContain(`"schedule":{"every":31536000,"payload":${payload},"nextRunAt":`)
    }
  })

  test('while the task is paused or deleted nextRunAt is null', async () => {
    const schedule = { every: 3_600 }
    const { path } = await declare({ schedule })
    expect(ok(await service.api.put(path, { schedule, paused: true })).schedule.nextRunAt).toBeNull()
    expect(ok(await service.api.put(path, { schedule })).schedule.nextRunAt).toBeNumber()
    expect(ok(await service.api.delete(path)).schedule.nextRunAt).toBeNull()
    expect(ok(await service.api.post(`${path}/restore`)).schedule.nextRunAt).toBeGreaterThan(Date.now() - 60_000)
    expect(ok(await service.api.put(path, {})).schedule).toBeNull()
  })

  test('a task whose time has come runs by itself', async () => {
    const { path } = await declare({ schedule: { every: 1 } })
    await eventually('a run waits', async () => ok(await service.api.get(path)).oldestRunAt ?? undefined)
    // A paused one keeps its run waiting.
    const paused = ok(await service.api.put(path, { schedule: { every: 1 }, paused: true }))
    expect(paused.oldestRunAt).toBeLessThanOrEqual(Date.now() + 60_000)
  })
})

describe('versions', () => {
  test('If-Match: the version or *; If-None-Match: *; otherwise 412 and nothing changed', async () => {
    const path = pathOf(freshName('task'))
    refused(await service.api.put(path, {}, { 'if-match': '*' }), 412, 'precondition_failed')
    refused(await service.api.put(path, {}, { 'if-match': '"1"' }), 412, 'precondition_failed')
    const { updatedAt } = ok(await service.api.put(path, {}, { 'if-none-match': '*' }), 201)
    const again = refused(await service.api.put(path, {}, { 'if-none-match': '*' }), 412, 'precondition_failed')
    expect(again.message).toBe(`The task is at version ${updatedAt}; nothing was changed.`)
    expect(again.hint).toBe(`Read it again (GET ${path}), and name its version.`)
    const second = ok(await service.api.put(path, { attempts: 2 }, { 'if-match': `"${updatedAt}"` }))
    refused(await service.api.put(path, { attempts: 3 }, { 'if-match': `"${updatedAt}"` }), 412, 'precondition_failed')
    ok(await service.api.put(path, { attempts: 4 }, { 'if-match': '*' }))
    refused(await service.api.delete(path, { 'if-match': `"${second.updatedAt}"` }), 412, 'precondition_failed')
    const { attempts, updatedAt: now } = ok(await service.api.get(path))
    expect(attempts).toBe(4)
    ok(await service.api.delete(path, { 'if-match': `"${now}"` }))
    // A deleted task does not exist.
    refused(await service.api.put(path, {}, { 'if-match': `"${now}"` }), 412, 'precondition_failed')
    refused(await service.api.delete(path, { 'if-match': '*' }), 404, 'task_not_found')
    ok(await service.api.put(path, {}, { 'if-none-match': '*' }), 201)
  })

  test('of racing writers that name one version one wins', async () => {
    const { path, declared } = await declare()
    const condition = { 'if-match': `"${declared.updatedAt}"` }
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => service.api.put(path, { attempts: 2 }, condition)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)])
  })

  test('malformed conditions, and those that mean nothing here, are refused', async () => {
    const { path, declared } = await declare()
    for (const [method, rest, headers] of [
      ['PUT', '', { 'if-match': 'W/"1"' }],
      ['PUT', '', { 'if-match': '1' }],
      ['PUT', '', { 'if-match': '"1", "2"' }],
      ['PUT', '', { 'if-none-match': '"1"' }],
      ['PUT', '', { 'if-none-match': '*', 'if-match': '*' }],
      ['DELETE', '', { 'if-none-match': '*' }],
      ['GET', '', { 'if-match': '*' }],
      ['POST', '/restore', { 'if-match': '*' }],
    ] as [string, string, Record<string, string>][])
      refused(await service.api.request(method, `${path}${rest}`, undefined, headers), 400, 'invalid_request')
    refused(await service.api.get('/v1/app/_tasks', { 'if-none-match': '*' }), 400, 'invalid_request')
    expect(ok(await service.api.get(path))).toEqual(declared)
  })

  test('GET has the ETag and is never 304', async () => {
    const { path, declared } = await declare()
    for (const condition of ['*', `"${declared.updatedAt}"`, `W/"${declared.updatedAt}", "x"`]) {
      const answer = await service.api.get(path, { 'if-none-match': condition })
      expect(ok(answer)).toEqual(declared)
      expect(answer.headers.get('etag')).toBe(`"${declared.updatedAt}"`)
    }
    expect((await service.api.raw('HEAD', path)).headers.get('etag')).toBe(`"${declared.updatedAt}"`)
  })
})

describe('names', () => {
  for (const name of ['a', '-', 'x'.repeat(64), 'query', 'run', 'runs', 'claim', 'batch', 'restore', 'secret']) {
    test(`"${name}" names a task`, async () => {
      ok(await service.api.put(pathOf(name, 'names'), {}), 201)
      expect(ok(await service.api.get(pathOf(name, 'names')))).toMatchObject({ db: 'names', task: name })
      ok(await service.api.delete(pathOf(name, 'names')))
      expect(ok(await service.api.post(`${pathOf(name, 'names')}/restore`)).task).toBe(name)
    })
  }

  for (const name of ['x'.repeat(65), 'A', 'a.b', 'a%20b', '%C3%A9', 'a%2Fb', '..', '.', '%2e%2e', '%ff']) {
    test(`"${name}" is refused: invalid_name`, async () => {
      for (const method of ['PUT', 'GET', 'DELETE']) {
        refused(await service.api.raw(method, pathOf(name)), 400, 'invalid_name', 'task')
        refused(await service.api.raw(method, pathOf('mail', name)), 400, 'invalid_name', 'db')
      }
      refused(await service.api.raw('POST', `${pathOf(name)}/restore`), 400, 'invalid_name', 'task')
      refused(await service.api.raw('POST', `${pathOf(name)}/secret`), 400, 'invalid_name', 'task')
    })
  }

  test('a leading _ is reserved', async () => {
    for (const name of ['_', '_mail', '_tasks', '_buckets']) {
      refused(await service.api.put(pathOf(name), {}), 400, 'reserved_name', 'task')
      refused(await service.api.put(pathOf('mail', name), {}), 400, 'reserved_name', 'db')
      refused(await service.api.get(`/v1/${name}/_tasks`), 400, 'reserved_name', 'db')
    }
    for (const path of ['/v1/app/%5Ftasks', '/v1/app/_task%73', '/v1/app/%5Ftasks/mail'])
      refused(await service.api.raw('GET', path), 400, 'reserved_name', 'table')
  })

  test('a table, a bucket and a task may have one name, and none is the other', async () => {
    const { name, path, declared } = await declare()
    refused(await service.api.get(`/v1/app/${name}`), 404, 'table_not_found')
    refused(await service.api.get(`/v1/app/_buckets/${name}`), 404, 'bucket_not_found')
    const table = await makeTable(service.api, undefined, name)
    const bucket = `/v1/app/_buckets/${name}`
    ok(await service.api.post(bucket), 201)
    ok(await service.api.delete(path))
    ok(await service.api.get(bucket))
    expect(ok(await service.api.get(table.path))).toEqual(table.created)
    ok(await service.api.delete(table.path))
    ok(await service.api.delete(bucket))
    expect(ok(await service.api.post(`${path}/restore`))).toEqual(declared)
    refused(await service.api.get(table.path), 404, 'table_not_found')
    refused(await service.api.get(bucket), 404, 'bucket_not_found')
  })
})

describe('paths', () => {
  test('unknown ones below _tasks are route_not_found, never a record', async () => {
    const { path, declared } = await declare()
    for (const rest of [
      '/x',
      '/runs',
      '/run/',
      '/runs/a/b',
      '/a/b/c/d',
      '/',
      '//',
      '/secret/',
      '/restore/x',
      '/..',
      '/%2e%2e',
    ]) {
      for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'PATCH'])
        refused(await service.api.raw(method, `${path}${rest}`), 404, 'route_not_found')
    }
    for (const target of [
      '/v1/app/_tasks/',
      '/v1/app/_tasks//',
      '/v1/app//_tasks/mail',
      path.replace('_tasks/', '_tasks//'),
    ])
      refused(await service.api.raw('DELETE', target), 404, 'route_not_found')
    expect(ok(await service.api.get(path))).toEqual(declared)
  })

  test('other methods: 405 with Allow', async () => {
    for (const [path, allow, methods] of [
      ['/v1/app/_tasks', 'GET, HEAD, OPTIONS', ['POST', 'PUT', 'PATCH', 'DELETE']],
      [pathOf('mail'), 'DELETE, GET, HEAD, OPTIONS, PUT', ['POST', 'PATCH']],
      [`${pathOf('mail')}/restore`, 'OPTIONS, POST', ['GET', 'PUT', 'PATCH', 'DELETE']],
      [`${pathOf('mail')}/secret`, 'OPTIONS, POST', ['GET', 'PUT', 'PATCH', 'DELETE']],
    ] as const) {
      for (const method of methods) {
        const answer = await service.api.raw(method, path)
        refused(answer, 405, 'method_not_allowed')
        expect([path, method, answer.headers.get('allow')]).toEqual([path, method, allow])
      }
    }
  })

  test('a browser may ask for every method', async () => {
    for (const path of ['/v1/app/_tasks', pathOf('mail'), `${pathOf('mail')}/secret`]) {
      const answer = await service.server.raw('OPTIONS', path)
      expect([answer.status, answer.headers.get('access-control-allow-methods')]).toEqual([
        204,
        'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      ])
    }
  })
})

describe('list', () => {
  test('{ tasks, cursor } by name, page by page, as GET shows each', async () => {
    const db = freshName('db')
    const declared: Json[] = []
    for (const name of ['b', 'a', '-', 'ab', 'z'])
      declared.push(later((await declare({ url: target }, name, db)).declared))
    await makeTable(service.api, undefined, 'aa', db)
    const byName = declared.toSorted((x, y) => (x.task < y.task ? -1 : 1))
    expect(ok(await service.api.get(`/v1/${db}/_tasks`))).toEqual({ tasks: byName, cursor: null })
    const first = ok(await service.api.get(`/v1/${db}/_tasks?limit=3`))
    expect(first.tasks).toEqual(byName.slice(0, 3))
    const second = ok(await service.api.get(`/v1/${db}/_tasks?limit=3&cursor=${first.cursor}`))
    expect(second).toEqual({ tasks: byName.slice(3), cursor: null })
    expect(ok(await service.api.get(`/v1/${freshName('db')}/_tasks`))).toEqual({ tasks: [], cursor: null })
    expect(ok(await service.api.get(`/v1/${db}`)).tables).toHaveLength(1)
  })

  test('deleted=true: those that can be restored, by name, then deletedAt', async () => {
    const db = freshName('db')
    const expected: Json[] = []
    for (const name of ['b', 'a', 'b']) expected.push(ok(await service.api.delete((await declare({}, name, db)).path)))
    expected.sort((x, y) => (x.task === y.task ? x.deletedAt - y.deletedAt : x.task < y.task ? -1 : 1))
    expect(ok(await service.api.get(`/v1/${db}/_tasks?deleted=true`))).toEqual({ tasks: expected, cursor: null })
    const { tasks, cursor } = ok(await service.api.get(`/v1/${db}/_tasks?deleted=true&limit=2`))
    expect(tasks).toEqual(expected.slice(0, 2))
    const rest = ok(await service.api.get(`/v1/${db}/_tasks?deleted=true&limit=2&cursor=${cursor}`))
    expect(rest).toEqual({ tasks: expected.slice(2), cursor: null })
    refused(await service.api.get(`/v1/${db}/_tasks?cursor=${cursor}`), 400, 'invalid_cursor')
  })

  test('a page ends before it has more than 1 MiB, and the next one goes on', async () => {
    const db = freshName('db')
    const payload = { a: 'x'.repeat(400_000) }
    for (const name of ['a', 'b', 'c', 'd']) await declare({ schedule: { every: 31_536_000, payload } }, name, db)
    const names: string[][] = []
    let cursor: string | null = ''
    while (cursor !== null && names.length < 10) {
      const answer: Answer = await service.api.get(`/v1/${db}/_tasks${cursor && `?cursor=${cursor}`}`)
      expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(1_048_576 + 200)
      names.push(ok(answer).tasks.map(({ task }: Json) => task))
      cursor = answer.body.cursor
    }
    expect(names).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
  })

  test('wrong parameters are named', async () => {
    refused(await service.api.get('/v1/app/_tasks?limit=0'), 400, 'invalid_request', 'limit')
    refused(await service.api.get('/v1/app/_tasks?deleted=yes'), 400, 'invalid_request', 'deleted')
    refused(await service.api.get('/v1/app/_tasks?status=queued'), 400, 'invalid_request', 'status')
  })

  test('a database is there as soon as a task is, and gone with the last of all', async () => {
    const own = service.server.as((await service.server.createOrganization()).secretKey)
    const limited = service.server.as((await createKey(own, { kind: 'public', databases: ['b', 'c'] })).key)
    const databases = async () => [ok(await own.get('/v1')).databases, ok(await limited.get('/v1')).databases]
    await declare({}, 'mail', 'b', own)
    await makeTable(own, undefined, 'orders', 'a')
    expect(await databases()).toEqual([['a', 'b'], ['b']])
    ok(await own.delete(pathOf('mail', 'b')))
    expect(await databases()).toEqual([['a'], []])
    ok(await own.post(`${pathOf('mail', 'b')}/restore`))
    expect(await databases()).toEqual([['a', 'b'], ['b']])
  })
})

describe('soft delete and restore', () => {
  test('200 with status deleted, deletedAt and recoverableUntil; then 404 with both calls in the hint', async () => {
    const { path, declared } = await declare({ attempts: 3 })
    const deleted = ok(await service.api.delete(path))
    expect(Object.keys(deleted)).toEqual([...fields, 'deletedAt', 'recoverableUntil'])
    expect(deleted).toEqual({
      ...declared,
      status: 'deleted',
      deletedAt: deleted.deletedAt,
      recoverableUntil: deleted.deletedAt + weekMs,
    })
    for (const answer of [
      await service.api.get(path),
      await service.api.delete(path),
      await service.api.post(`${path}/secret`),
    ]) {
      const { hint, message } = refused(answer, 404, 'task_not_found')
      expect(message).toContain('was deleted')
      const until = new Date(deleted.recoverableUntil).toISOString()
      expect(hint).toBe(
        `Restore it until ${until}: POST ${path}/restore; or declare a new task without runs: PUT ${path}`,
      )
    }
  })

  test('an unknown task: the hint shows the call that declares it', async () => {
    const { hint, message } = refused(await service.api.get(pathOf('nowhere')), 404, 'task_not_found')
    expect(message).toBe('There is no task nowhere in database app.')
    expect(hint).toBe('Declare it: PUT /v1/app/_tasks/nowhere')
    refused(await service.api.post(`${pathOf('nowhere')}/restore`), 404, 'task_not_found')
  })

  test('restored: the task as it was declared; again: unchanged', async () => {
    const { path, declared } = await declare({ url: target, authorization: 'x', attempts: 3, paused: true })
    ok(await service.api.delete(path))
    for (const body of [undefined, {}, { deletedAt: 1 }])
      expect(ok(await service.api.post(`${path}/restore`, body))).toEqual(later(declared))
    expect(ok(await service.api.get(path))).toEqual(later(declared))
  })

  test('several of one name: each by its deletedAt; the name taken: 409 task_exists', async () => {
    const { path, declared } = await declare({ attempts: 1 })
    const { deletedAt } = ok(await service.api.delete(path))
    ok(await service.api.put(path, { attempts: 2 }), 201)
    const { hint } = refused(await service.api.post(`${path}/restore`), 409, 'task_exists')
    expect(hint).toBe(`Delete it first (DELETE ${path}), then restore with { "deletedAt": ${deletedAt} }.`)
    ok(await service.api.delete(path))
    expect(ok(await service.api.post(`${path}/restore`)).attempts).toBe(2)
    ok(await service.api.delete(path))
    expect(ok(await service.api.post(`${path}/restore`, { deletedAt }))).toEqual(declared)
  })

  test('a deletedAt that names no task: 404; one that is no time: 400', async () => {
    const { path } = await declare()
    ok(await service.api.delete(path))
    const { hint } = refused(await service.api.post(`${path}/restore`, { deletedAt: 1 }), 404, 'task_not_found')
    expect(hint).toContain('GET /v1/app/_tasks?deleted=true')
    refused(await service.api.post(`${path}/restore`, { deletedAt: 'x' }), 400, 'invalid_request', 'deletedAt')
    refused(await service.api.post(`${path}/restore`, { at: 1 }), 400, 'invalid_request', 'at')
  })

  test('a request to delete with a body or a parameter deletes nothing', async () => {
    const { path, declared } = await declare()
    const { hint } = refused(await service.api.request('DELETE', path, { id: 'run_1' }), 400, 'invalid_request')
    expect(hint).toContain(`POST ${path}/runs/:run/cancel`)
    refused(await service.api.delete(`${path}?id=run_1`), 400, 'invalid_request', 'id')
    expect(ok(await service.api.get(path))).toEqual(declared)
  })
})

describe('other callers', () => {
  test('a public key sees nothing of tasks', async () => {
    const { path, declared } = await declare()
    for (const [method, target] of [
      ['GET', '/v1/app/_tasks'],
      ['GET', path],
      ['PUT', path],
      ['DELETE', path],
      ['POST', `${path}/restore`],
      ['POST', `${path}/secret`],
    ] as const) {
      const { message } = refused(await service.reader.request(method, target), 403, 'read_only_key')
      expect(message).toBe(
        'A public key reads records, tables, runs and public files; this request needs a secret key.',
      )
    }
    expect(ok(await service.api.get(path))).toEqual(declared)
  })

  const faceless = ({ status, text, headers }: Answer, name: string): Json => ({
    status,
    text: text.replaceAll(headers.get('x-request-id')!, 'ID').replaceAll(name, 'NAME'),
  })

  for (const state of ['active', 'soft-deleted'] as const) {
    test(`the ${state} task of another organization answers exactly like one that does not exist`, async () => {
      const db = freshName('theirs')
      const { path, declared } = await declare({}, 'mail', db)
      if (state === 'soft-deleted') ok(await service.api.delete(path))
      for (const [method, rest, headers] of [
        ['GET', '/mail'],
        ['DELETE', '/mail'],
        ['DELETE', '/mail', { 'if-match': `"${declared.updatedAt}"` }],
        ['PUT', '/mail', { 'if-match': `"${declared.updatedAt}"` }],
        ['POST', '/mail/restore'],
        ['POST', '/mail/secret'],
        ['GET', ''],
        ['GET', '?deleted=true'],
      ] as [string, string, Record<string, string>?][]) {
        const theirs = await service.stranger.request(method, `/v1/${db}/_tasks${rest}`, undefined, headers)
        const none = await service.stranger.request(method, `/v1/nowhere/_tasks${rest}`, undefined, headers)
        expect(faceless(theirs, db)).toEqual(faceless(none, 'nowhere'))
      }
      if (state === 'soft-deleted') ok(await service.api.post(`${path}/restore`))
      expect(ok(await service.api.get(path))).toEqual(declared)
      await declare({}, 'mail', db, service.stranger)
    })
  }
})

describe('almost right: the hint names the request that is meant', () => {
  test('on the paths of tasks', async () => {
    const { path } = await declare({}, 'outbox')
    for (const [method, target, body, meant] of [
      ['POST', '/v1/app/_tasks', undefined, 'Tasks are declared by PUT /v1/app/_tasks/:task.'],
      ['DELETE', '/v1/app/_tasks', undefined, 'Tasks are deleted by DELETE /v1/app/_tasks/:task.'],
      ['POST', path, {}, `Tasks are declared by PUT ${path}; a run is added by POST ${path}/run.`],
      ['PATCH', path, {}, `A declaration is always sent as a whole; tasks are declared by PUT ${path}.`],
      ['PUT', `${path}/restore`, {}, `A deleted task is restored by POST ${path}/restore.`],
      ['GET', `${path}/secret`, undefined, `A secret is shown once, when it is created: POST ${path}/secret.`],
      ['PUT', path, { payload: {} }, `This request declares a task; a run is added by POST ${path}/run.`],
      ['PUT', path, { cron: '* * * * *' }, 'It belongs into "schedule".'],
      ['GET', `${path}?status=queued`, undefined, `Runs are listed by POST ${path}/query.`],
      ['GET', `${path}/runs`, undefined, `Runs are listed by POST ${path}/query.`],
      ['POST', `${path}/trigger`, {}, `A run is added by POST ${path}/run.`],
      ['POST', `${path}/pause`, {}, `A task is paused and resumed by its declaration: PUT ${path} with paused.`],
      ['GET', `${path}/x`, undefined, `Below ${path} are run, query, claim, batch, secret, restore and runs/:run;`],
      ['DELETE', `${path}/runs/a`, undefined, `POST ${path}/runs/:run/cancel.`],
      ['GET', '/app/_tasks/outbox', undefined, 'Tasks and runs are below /v1: /v1/app/_tasks/outbox.'],
      ['GET', '/tasks', undefined, 'Tasks are listed by GET /v1/:db/_tasks.'],
      ['GET', '/v1/_tasks', undefined, 'Tasks are listed by GET /v1/:db/_tasks.'],
      ['GET', '/v1/app/tasks', undefined, 'Tasks are listed by GET /v1/app/_tasks.'],
    ] as [string, string, Json, string][]) {
      const { hint } = (await service.api.request(method, target, body)).body.error
      expect([method, target, hint]).toEqual([method, target, expect.stringContaining(meant)])
    }
  })
})
