import { describe, expect, test } from 'bun:test'
import { type ApiResponse, eventually, type Json } from '../harness.ts'
import { freshName, ok, refused, useService } from './service.ts'

// Declarations of tasks: the fields, the conditions, the paths. What tables, buckets and tasks have in common is in lifecycle.test.ts.

const service = useService()
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
  ...['keepSeconds', 'paused', 'schedule', 'on', 'oldestRunAt', 'status', 'createdAt', 'updatedAt'],
]

describe('counts', () => {
  test('a page with counts has at most 100 tasks, whatever its limit is, and a cursor', async () => {
    const db = freshName('db')
    const names = Array.from({ length: 120 }, (_, i) => `t${String(i).padStart(3, '0')}`)
    for (const name of names) ok(await service.api.put(pathOf(name, db), {}), 201)
    const first = ok(await service.api.get(`/v1/${db}/_tasks?counts=true&limit=1000`))
    const second = ok(await service.api.get(`/v1/${db}/_tasks?counts=true&limit=1000&cursor=${first.cursor}`))
    expect([first.tasks.length, second.tasks.length, second.cursor]).toEqual([100, 20, null])
    expect([...first.tasks, ...second.tasks].map(({ task }: Json) => task)).toEqual(names)
  })

  const none = { queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 }

  test('how many runs have each status: up to 1,000 of one task, and up to 100 in a listing', async () => {
    const db = freshName('db')
    const { name, path } = await declare({ attempts: 1 }, 'busy', db)
    await declare({}, 'idle', db)
    const add = (count: number): Promise<unknown> =>
      service.api.post(`${path}/batch`, { operations: Array.from({ length: count }, () => ({ op: 'run' })) })
    for (let i = 0; i < 41; i++) ok((await add(25)) as ApiResponse)
    const claim = async (): Promise<Json> => ok(await service.api.post(`${path}/claim`, {})).runs[0]
    const [first, second] = [await claim(), await claim()]
    ok(await service.api.post(`${path}/runs/${first.id}/finish`, { lease: first.lease }))
    ok(await service.api.post(`${path}/runs/${second.id}/finish`, { lease: second.lease, error: { message: 'no' } }))
    await claim()
    const counts = { queued: 1_000, running: 1, succeeded: 1, failed: 1, cancelled: 0 }
    const task = ok(await service.api.get(`${path}?counts=true`))
    expect(task.counts).toEqual(counts)
    expect(Object.keys(task)).toEqual([...fields, 'counts'])
    const listed = ok(await service.api.get(`/v1/${db}/_tasks?counts=true`)).tasks
    expect(listed.map((task: Json) => [task.task, task.counts])).toEqual([
      [name, { ...counts, queued: 100 }],
      ['idle', none],
    ])
    ok(await service.api.delete(path))
    const [deleted] = ok(await service.api.get(`/v1/${db}/_tasks?counts=true&deleted=true`)).tasks
    expect(deleted.counts).toEqual({ ...counts, queued: 100 })
  })

  test('only if they are asked for', async () => {
    const { path } = await declare()
    for (const query of ['', '?counts=false'])
      expect(ok(await service.api.get(path + query))).not.toHaveProperty('counts')
    for (const at of [path, '/v1/app/_tasks'])
      refused(await service.api.get(`${at}?counts=1`), 400, 'invalid_request', 'counts')
  })
})

describe('declare', () => {
  test('without a body: 201, every field in order, with its default', async () => {
    const name = freshName('task')
    const answer = await service.api.raw('PUT', pathOf(name))
    const task = ok(answer, 201)
    expect(Object.keys(task)).toEqual(fields)
    expect(task).toEqual({
      ...{ db: 'app', task: name, url: null, authorization: null, leaseSeconds: 30, attempts: 12, backoffSeconds: 5 },
      ...{ concurrency: null, keepSeconds: 604_800, paused: false, schedule: null, on: null, oldestRunAt: null },
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

  test('**** follows no url to another origin, neither to none nor from none', async () => {
    const pushed = await declare({ url: target, authorization: 'Bearer geheim' })
    const claimed = await declare({ authorization: 'Bearer geheim' })
    const { origin } = new URL(target)
    const moves: [string, Json][] = [
      [pushed.path, { url: `${origin}:8443/`, authorization: '****' }],
      [pushed.path, { url: 'https://elsewhere.invalid/', authorization: '****' }],
      [pushed.path, { authorization: '****' }],
      [claimed.path, { url: target, authorization: '****' }],
    ]
    for (const [path, declaration] of moves) {
      const before = ok(await service.api.get(path))
      const answer = await service.api.put(path, declaration)
      const { message, hint } = refused(answer, 400, 'invalid_request', 'authorization')
      expect(message).toContain('another origin')
      expect(hint).toContain('the value of the header itself')
      expect(answer.text).not.toContain('geheim')
      expect(ok(await service.api.get(path))).toEqual(before)
    }
    ok(await service.api.put(pushed.path, { url: `${origin}/moved`, authorization: '****' }))
    ok(await service.api.put(claimed.path, { attempts: 2, authorization: '****' }))
    ok(await service.api.put(pushed.path, { url: 'https://elsewhere.invalid/', authorization: 'Bearer other' }))
    ok(await service.api.put(pushed.path, { url: target }))
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
  test('a page ends before it has more than 1 MiB, and the next one goes on', async () => {
    const db = freshName('db')
    const payload = { a: 'x'.repeat(400_000) }
    for (const name of ['a', 'b', 'c', 'd']) await declare({ schedule: { every: 31_536_000, payload } }, name, db)
    const names: string[][] = []
    let cursor: string | null = ''
    while (cursor !== null && names.length < 10) {
      const answer: ApiResponse = await service.api.get(`/v1/${db}/_tasks${cursor && `?cursor=${cursor}`}`)
      expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(1_048_576 + 200)
      names.push(ok(answer).tasks.map(({ task }: Json) => task))
      cursor = answer.body.cursor
    }
    expect(names).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
  })
})
