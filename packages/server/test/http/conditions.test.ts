import { describe, expect, test } from 'bun:test'
import { freshName, justPast, ok, refused, useService } from './service.ts'

const service = useService()

const etag = (updatedAt: number) => `"${updatedAt}"`
const put = (hashKey = 'a', n = 0) => ({ hashKey, data: { n } })

describe('ETag', () => {
  test('GET and PUT answer with the version, minimal answers and 304 too', async () => {
    const table = await service.table()
    const first = await table.tryPut(put())
    expect(first.headers.get('etag')).toBe(etag(ok(first).updatedAt))
    const minimal = await table.tryPut(put(), { prefer: 'return=minimal' })
    expect(minimal.headers.get('etag')).toBe(etag(ok(minimal).updatedAt))
    const { updatedAt } = ok(minimal)
    const get = await table.get('a')
    expect(get.headers.get('etag')).toBe(etag(updatedAt))
    const unchanged = await service.api.get(table.at('a'), { 'if-none-match': etag(updatedAt) })
    expect(unchanged.status).toBe(304)
    expect(unchanged.text).toBe('')
    expect(unchanged.headers.get('etag')).toBe(etag(updatedAt))
  })

  test('records with a range key likewise', async () => {
    const table = await service.table()
    const { updatedAt } = await table.put('a', {}, { rangeKey: 'r' })
    expect((await table.get('a', 'r')).headers.get('etag')).toBe(etag(updatedAt))
    const unchanged = await service.api.get(table.at('a', 'r'), { 'if-none-match': etag(updatedAt) })
    expect(unchanged.status).toBe(304)
  })
})

describe('If-None-Match on GET is read as HTTP says', () => {
  const matching: [string, (tag: string) => string][] = [
    ['the tag', (tag) => tag],
    ['a weak tag', (tag) => `W/${tag}`],
    ['*', () => '*'],
    ['a list', (tag) => `"1", ${tag}, "x"`],
    ['a list of weak tags without spaces', (tag) => `W/"1",W/${tag}`],
    ['a list with a comma inside a tag', (tag) => `"a,b", ${tag}`],
  ]
  for (const [what, header] of matching) {
    test(`${what}: 304`, async () => {
      const table = await service.table()
      const { updatedAt } = await table.put('a')
      const headers = { 'if-none-match': header(etag(updatedAt)) }
      expect((await service.api.get(table.at('a'), headers)).status).toBe(304)
      expect((await service.api.request('HEAD', table.at('a'), undefined, headers)).status).toBe(304)
    })
  }

  const other: [string, (tag: string) => string][] = [
    ['another tag', (tag) => `"${Number(tag.slice(1, -1)) - 1}"`],
    ['a list of others', () => '"1", W/"2"'],
    ['a tag that only begins so', (tag) => `${tag.slice(0, -1)}0"`],
  ]
  for (const [what, header] of other) {
    test(`${what}: 200 with the record`, async () => {
      const table = await service.table()
      const record = await table.put('a')
      expect(ok(await service.api.get(table.at('a'), { 'if-none-match': header(etag(record.updatedAt)) }))).toEqual(
        record,
      )
    })
  }

  test('a record that is not there is 404, also for *', async () => {
    const table = await service.table()
    refused(await service.api.get(table.at('a'), { 'if-none-match': '*' }), 404, 'record_not_found')
    refused(await service.api.get(table.at('a'), { 'if-none-match': '"1"' }), 404, 'record_not_found')
  })

  test('If-Match is refused', async () => {
    const table = await service.table()
    const { updatedAt } = await table.put('a')
    refused(await service.api.get(table.at('a'), { 'if-match': etag(updatedAt) }), 400, 'invalid_request')
    refused(await service.api.get(table.at('a', '#'), { 'if-match': '*' }), 400, 'invalid_request')
  })
})

describe('PUT', () => {
  test('If-Match with the current version: 200', async () => {
    const table = await service.table()
    const { updatedAt } = await table.put('a')
    const next = ok(await table.tryPut(put('a', 1), { 'if-match': etag(updatedAt) }))
    expect(next.updatedAt).toBeGreaterThan(updatedAt)
    expect(ok(await table.get('a'))).toEqual(next)
  })

  test('If-Match with another version: 412 precondition_failed, nothing changed', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    const old = await table.put('a', { n: 1 })
    const current = await table.put('a', { n: 2 })
    for (const version of [old.updatedAt, current.updatedAt + 1, 0]) {
      refused(await table.tryPut(put('a', 3), { 'if-match': etag(version) }), 412, 'precondition_failed')
    }
    expect(ok(await table.get('a'))).toEqual(current)
    expect(await table.hashes({ index: 'i1', hash: 3 })).toEqual([])
  })

  test('If-Match with a tag that is no version: 412, like any that does not match', async () => {
    const table = await service.table()
    const record = await table.put('a')
    for (const tag of ['"latest"', '"*"', '""', '"-1"', '"01"', '"99999999999999999999"', `"${record.updatedAt}.0"`]) {
      refused(await table.tryPut(put('a', 1), { 'if-match': tag }), 412, 'precondition_failed')
      refused(await service.api.delete(table.at('a'), { 'if-match': tag }), 412, 'precondition_failed')
    }
    expect(ok(await table.get('a'))).toEqual(record)
  })

  test('If-Match with a version of a record that is gone: 412', async () => {
    const table = await service.table()
    const { updatedAt } = await table.put('a')
    ok(await table.delete('a'))
    refused(await table.tryPut(put(), { 'if-match': etag(updatedAt) }), 412, 'precondition_failed')
    refused(await table.get('a'), 404, 'record_not_found')
  })

  test('If-Match: * only if it exists', async () => {
    const table = await service.table()
    refused(await table.tryPut(put(), { 'if-match': '*' }), 412, 'precondition_failed')
    await table.put('a')
    ok(await table.tryPut(put(), { 'if-match': '*' }))
  })

  test('If-None-Match: * only if it does not exist', async () => {
    const table = await service.table()
    const made = ok(await table.tryPut(put('a', 1), { 'if-none-match': '*' }))
    refused(await table.tryPut(put('a', 2), { 'if-none-match': '*' }), 412, 'precondition_failed')
    expect(ok(await table.get('a'))).toEqual(made)
    ok(await table.delete('a'))
    ok(await table.tryPut(put('a', 3), { 'if-none-match': '*' }))
  })

  test('a record past its ttl does not exist for a condition', async () => {
    const table = await service.table()
    const expired = () => table.put('a', {}, { ttl: justPast() })
    const { updatedAt } = await expired()
    refused(await table.tryPut(put(), { 'if-match': '*' }), 412, 'precondition_failed')
    refused(await table.tryPut(put(), { 'if-match': etag(updatedAt) }), 412, 'precondition_failed')
    refused(await service.api.delete(table.at('a'), { 'if-match': '*' }), 412, 'precondition_failed')
    refused(await service.api.delete(table.at('a'), { 'if-match': etag(updatedAt) }), 412, 'precondition_failed')
    ok(await table.tryPut(put(), { 'if-none-match': '*' }))
    ok(await table.get('a'))
  })

  test('each slot of a hash key has its own version', async () => {
    const table = await service.table()
    const plain = await table.put('a')
    // Twice: the first may have been in the same millisecond.
    await table.put('a', {}, { rangeKey: 'r' })
    const ranged = await table.put('a', {}, { rangeKey: 'r' })
    expect(ranged.updatedAt).toBeGreaterThan(plain.updatedAt)
    const crossed = await table.tryPut(put(), { 'if-match': etag(ranged.updatedAt) })
    refused(crossed, 412, 'precondition_failed')
    ok(await table.tryPut(put(), { 'if-match': etag(plain.updatedAt) }))
  })
})

describe('DELETE', () => {
  test('If-Match with the current version: deleted', async () => {
    const table = await service.table()
    const { updatedAt } = await table.put('a')
    expect(ok(await service.api.delete(table.at('a'), { 'if-match': etag(updatedAt) }))).toEqual({ deleted: true })
    refused(await table.get('a'), 404, 'record_not_found')
  })

  test('If-Match with another version: 412, nothing changed', async () => {
    const table = await service.table()
    const old = await table.put('a')
    const current = await table.put('a')
    refused(await service.api.delete(table.at('a'), { 'if-match': etag(old.updatedAt) }), 412, 'precondition_failed')
    expect(ok(await table.get('a'))).toEqual(current)
  })

  test('If-Match: * only if it exists', async () => {
    const table = await service.table()
    refused(await service.api.delete(table.at('a'), { 'if-match': '*' }), 412, 'precondition_failed')
    await table.put('a', {}, { rangeKey: 'r' })
    refused(await service.api.delete(table.at('a'), { 'if-match': '*' }), 412, 'precondition_failed')
    expect(ok(await service.api.delete(table.at('a', 'r'), { 'if-match': '*' }))).toEqual({ deleted: true })
  })
})

describe('a condition that is malformed, sent twice, or has no meaning on the route: 400 invalid_request', () => {
  const malformed: [string, (version: number) => [string, string][]][] = [
    ['unquoted', (v) => [['If-Match', String(v)]]],
    ['weak', (v) => [['If-Match', `W/"${v}"`]]],
    ['a list', (v) => [['If-Match', `"${v}", "1"`]]],
    ['a list of one and a comma', (v) => [['If-Match', `"${v}",`]]],
    ['half quoted', (v) => [['If-Match', `"${v}`]]],
    ['single quotes', (v) => [['If-Match', `'${v}'`]]],
    ['empty', () => [['If-Match', '']]],
    [
      'doubled',
      (v) => [
        ['If-Match', `"${v}"`],
        ['If-Match', `"${v}"`],
      ],
    ],
    [
      'doubled *',
      () => [
        ['If-Match', '*'],
        ['if-match', '*'],
      ],
    ],
  ]
  for (const [what, headers] of malformed) {
    test(`If-Match ${what}`, async () => {
      const table = await service.table()
      const { updatedAt } = await table.put('a', { n: 1 })
      const body = JSON.stringify(put('a', 2))
      refused(await service.api.raw('PUT', table.path, { headers: headers(updatedAt), body }), 400, 'invalid_request')
      refused(await service.api.raw('DELETE', table.at('a'), { headers: headers(updatedAt) }), 400, 'invalid_request')
      expect(ok(await table.get('a'))).toMatchObject({ updatedAt, data: { n: 1 } })
    })
  }

  const noneMatch: [string, (version: number) => [string, string][]][] = [
    ['a version', (v) => [['If-None-Match', `"${v}"`]]],
    ['a version that is not the current', () => [['If-None-Match', '"1"']]],
    ['* in quotes', () => [['If-None-Match', '"*"']]],
    ['weak', () => [['If-None-Match', 'W/*']]],
    ['empty', () => [['If-None-Match', '']]],
    [
      'doubled',
      () => [
        ['If-None-Match', '*'],
        ['If-None-Match', '*'],
      ],
    ],
  ]
  for (const [what, headers] of noneMatch) {
    test(`If-None-Match on PUT: ${what}`, async () => {
      const table = await service.table()
      const { updatedAt } = await table.put('a', { n: 1 })
      for (const hashKey of ['a', 'new']) {
        const body = JSON.stringify(put(hashKey, 2))
        refused(await service.api.raw('PUT', table.path, { headers: headers(updatedAt), body }), 400, 'invalid_request')
      }
      expect((await table.items({ index: 't' })).map((item) => item.data.n)).toEqual([1])
    })
  }

  test('If-None-Match on DELETE', async () => {
    const table = await service.table()
    const { updatedAt } = await table.put('a')
    for (const value of ['*', etag(updatedAt), '"1"']) {
      refused(await service.api.delete(table.at('a'), { 'if-none-match': value }), 400, 'invalid_request')
    }
    ok(await table.get('a'))
  })

  for (const header of ['if-match', 'if-none-match']) {
    for (const value of ['*', '"1"']) {
      test(`${header}: ${value} on batch, query and table routes`, async () => {
        const table = await service.table()
        const deleted = await service.table()
        ok(await service.api.delete(deleted.path))
        const headers = { [header]: value }
        const name = freshName()
        for (const answer of [
          await table.tryBatch([{ op: 'put', ...put() }], headers),
          await service.api.post(`${table.path}/query`, { hash: 'a' }, headers),
          await service.api.post(`/v1/app/${name}`, undefined, headers),
          await service.api.post(`${deleted.path}/restore`, undefined, headers),
          await service.api.delete(table.path, headers),
        ]) {
          refused(answer, 400, 'invalid_request')
        }
        ok(await service.api.get(table.path))
        refused(await table.get('a'), 404, 'record_not_found')
        refused(await service.api.get(`/v1/app/${name}`), 404, 'table_not_found')
        refused(await service.api.get(deleted.path), 404, 'table_not_found')
      })
    }
  }
})

describe('ifUpdatedAt in a batch', () => {
  test('a version that is current: applied', async () => {
    const table = await service.table()
    const a = await table.put('a')
    const b = await table.put('b')
    await table.batch([
      { op: 'put', hashKey: 'a', data: { n: 1 }, ifUpdatedAt: a.updatedAt },
      { op: 'delete', hashKey: 'b', ifUpdatedAt: b.updatedAt },
    ])
    expect(ok(await table.get('a')).data).toEqual({ n: 1 })
    refused(await table.get('b'), 404, 'record_not_found')
  })

  test('null: it must not exist', async () => {
    const table = await service.table()
    await table.batch([{ op: 'put', hashKey: 'a', data: {}, ifUpdatedAt: null }])
    const again = await table.tryBatch([
      { op: 'put', hashKey: 'b', data: {} },
      { op: 'put', hashKey: 'a', data: {}, ifUpdatedAt: null },
    ])
    const error = refused(again, 412, 'precondition_failed')
    expect(error.field).toStartWith('operations[1]')
    refused(await table.get('b'), 404, 'record_not_found')
  })

  test('null holds for a record past its ttl, a version does not', async () => {
    const table = await service.table()
    const { updatedAt } = await table.put('a', {}, { ttl: justPast() })
    const stale = await table.tryBatch([{ op: 'put', hashKey: 'a', data: {}, ifUpdatedAt: updatedAt }])
    refused(stale, 412, 'precondition_failed')
    await table.batch([{ op: 'put', hashKey: 'a', data: {}, ifUpdatedAt: null }])
  })

  test('one that fails refuses the whole batch: 412, field naming it, nothing changed', async () => {
    const table = await service.table({ i1: { hashField: 'n' } })
    const a = await table.put('a', { n: 1 })
    const b = await table.put('b', { n: 1 })
    const before = await table.items({ index: 't' })
    for (const failing of [
      { op: 'put', hashKey: 'b', data: { n: 2 }, ifUpdatedAt: b.updatedAt - 1 },
      { op: 'delete', hashKey: 'b', ifUpdatedAt: b.updatedAt + 1 },
      { op: 'delete', hashKey: 'absent', ifUpdatedAt: b.updatedAt },
      { op: 'put', hashKey: 'absent', data: {}, ifUpdatedAt: 0 },
    ]) {
      const answer = await table.tryBatch([
        { op: 'put', hashKey: 'a', data: { n: 2 }, ifUpdatedAt: a.updatedAt },
        { op: 'put', hashKey: 'new', data: { n: 2 } },
        failing,
        { op: 'delete', hashKey: 'a2' },
      ])
      const error = refused(answer, 412, 'precondition_failed')
      expect(error.field).toStartWith('operations[2]')
    }
    expect(await table.items({ index: 't' })).toEqual(before)
    expect(await table.hashes({ index: 'i1', hash: 2 })).toEqual([])
  })

  for (const value of ['"1"', '1.5', 'true', '[]', '"*"']) {
    test(`ifUpdatedAt: ${value} is malformed: invalid_request`, async () => {
      const table = await service.table()
      const body = `{"operations":[{"op":"put","hashKey":"a","data":{},"ifUpdatedAt":${value}}]}`
      const answer = await service.api.post(`${table.path}/batch`, body)
      refused(answer, 400, 'invalid_request', 'operations[0].ifUpdatedAt')
    })
  }
})

describe('racing writers that name the same version: one wins', () => {
  const racers = Array.from({ length: 24 }, (_, i) => i)

  test('If-Match', async () => {
    const table = await service.table()
    let { updatedAt } = await table.put('a')
    for (let round = 0; round < 5; round++) {
      const headers = { 'if-match': etag(updatedAt) }
      const answers = await Promise.all(racers.map((n) => table.tryPut(put('a', n), headers)))
      const won = answers.filter((answer) => answer.status === 200)
      expect(won.length).toBe(1)
      for (const answer of answers) if (answer.status !== 200) refused(answer, 412, 'precondition_failed')
      expect(ok(await table.get('a'))).toEqual(won[0]!.body)
      updatedAt = won[0]!.body.updatedAt
    }
  })

  test('If-None-Match: *', async () => {
    const table = await service.table()
    const answers = await Promise.all(racers.map((n) => table.tryPut(put('a', n), { 'if-none-match': '*' })))
    const won = answers.filter((answer) => answer.status === 200)
    expect(won.length).toBe(1)
    expect(ok(await table.get('a'))).toEqual(won[0]!.body)
  })

  test('puts, deletes and batches mixed', async () => {
    const table = await service.table()
    for (let round = 0; round < 5; round++) {
      const { updatedAt } = await table.put('a', { round })
      const answers = await Promise.all(
        racers.map((n) => {
          if (n % 3 === 0) return table.tryPut(put('a', n), { 'if-match': etag(updatedAt) })
          if (n % 3 === 1) return service.api.delete(table.at('a'), { 'if-match': etag(updatedAt) })
          return table.tryBatch([
            { op: 'put', hashKey: `side-${round}-${n}`, data: {} },
            { op: 'put', ...put('a', n), ifUpdatedAt: updatedAt },
          ])
        }),
      )
      expect(answers.filter((answer) => answer.status === 200).length).toBe(1)
      const winner = answers.findIndex((answer) => answer.status === 200)
      const sides = (await table.hashes({ index: 't' })).filter((key) => key.startsWith(`side-${round}-`))
      expect(sides).toEqual(winner % 3 === 2 ? [`side-${round}-${winner}`] : [])
    }
  })

  test('a counter of many increments by If-Match loses none', async () => {
    const table = await service.table()
    await table.put('counter', { n: 0 })
    const increment = async () => {
      for (;;) {
        const { data, updatedAt } = ok(await table.get('counter'))
        const answer = await table.tryPut(put('counter', data.n + 1), { 'if-match': etag(updatedAt) })
        if (answer.status === 200) return
        refused(answer, 412, 'precondition_failed')
      }
    }
    await Promise.all(Array.from({ length: 30 }, increment))
    expect(ok(await table.get('counter')).data).toEqual({ n: 30 })
  })
})
