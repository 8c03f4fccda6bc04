import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type CommandResult, type Organization, type Server, startServer } from '../harness.ts'
import { asClient, linesOf, type RunOptions, runCommand } from './commands.ts'
import { startMiddleman } from './middleman.ts'

setDefaultTimeout(120_000)

let server: Server
let org: Organization
let databases = 0

beforeAll(async () => {
  server = await startServer({ shared: true })
  org = await server.createOrganization()
})
afterAll(async () => {
  await server?.stop()
})

const newDb = (): string => `db-${++databases}`
const run = (args: string[], options: RunOptions = {}): Promise<CommandResult> =>
  runCommand(args, { ...options, env: { ...asClient(server, org), ...options.env } })

/** A success that says nothing on standard error; its lines. */
const lines = async (args: string[], options?: RunOptions): Promise<string[]> => {
  const { exitCode, stdout, stderr } = await run(args, options)
  expect({ exitCode, stderr, args }).toEqual({ exitCode: 0, stderr: '', args })
  return linesOf(stdout)
}

const expectRefused = async (args: string[], exitCode: number, said: string | RegExp, options?: RunOptions) => {
  const result = await run(args, options)
  expect({ exitCode: result.exitCode, stdout: result.stdout }).toEqual({ exitCode, stdout: '' })
  expect(result.stderr).toMatch(/^cubby: [^\n]+\n$/)
  expect(result.stderr).toMatch(said)
}

describe('cubby table', () => {
  test('create, describe, list, drop, restore: what the HTTP API answers, one object a line', async () => {
    const db = newDb()
    const created = await lines([
      'table',
      'create',
      'orders',
      '--db',
      db,
      '--i1',
      'status,placedAt',
      '--i3',
      'customer',
    ])
    const api = server.as(org.secretKey)
    expect([`${created}\n`]).toEqual([(await api.get(`/v1/${db}/orders`)).text])
    expect(JSON.parse(created[0]!).indices).toEqual({
      i1: { hashField: 'status', rangeField: 'placedAt' },
      i3: { hashField: 'customer' },
    })
    await lines(['table', 'create', 'notes', '--db', db])
    expect(await lines(['table', 'describe', 'orders', '--db', db])).toEqual(created)
    const listed = (await lines(['table', 'list', '--db', db, '--json'])).map((line) => JSON.parse(line).table)
    expect(listed).toEqual(['notes', 'orders'])
    const time = expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const cells = async (...args: string[]) => (await lines(args)).map((line) => line.split(/ {2,}/))
    expect(await cells('table', 'list', '--db', db)).toEqual([
      ['TABLE', 'STATUS', 'CREATED', 'DELETED', 'INDICES'],
      ['notes', 'active', time, '-', '-'],
      ['orders', 'active', time, '-', 'i1=status,placedAt i3=customer'],
    ])
    const [dropped] = await lines(['table', 'drop', 'orders', '--db', db])
    expect(JSON.parse(dropped!)).toMatchObject({ table: 'orders', status: 'deleted' })
    expect(await lines(['table', 'list', '--db', db, '--deleted', '--json'])).toEqual([dropped!])
    const { deletedAt } = JSON.parse(dropped!)
    expect((await cells('table', 'list', '--db', db, '--deleted'))[1]!.slice(0, 4)).toEqual([
      'orders',
      'deleted',
      time,
      time,
    ])
    expect(await lines(['table', 'restore', 'orders', '--db', db, '--deleted-at', String(deletedAt)])).toEqual(created)
    await lines(['table', 'drop', 'orders', '--db', db])
    expect(await lines(['table', 'restore', 'orders', '--db', db])).toEqual(created)
  })

  test('create takes the JSON of the API for names with a comma; again it is the table as it is', async () => {
    const db = newDb()
    const indices = { i1: { hashField: 'a,b' } }
    const create = ['table', 'create', 'odd', '--db', db, '--indices', JSON.stringify(indices)]
    const [created] = await lines(create)
    expect(JSON.parse(created!).indices).toEqual(indices)
    expect(await lines(create)).toEqual([created!])
    await expectRefused(
      ['table', 'create', 'odd', '--db', db, '--i1', 'a'],
      1,
      /exists with other indices.* It declares /,
    )
  })

  test('list goes through all pages', async () => {
    const db = newDb()
    const api = server.as(org.secretKey)
    const names = Array.from({ length: 1_001 }, (_, i) => `t${String(i).padStart(4, '0')}`)
    for (let i = 0; i < names.length; i += 50) {
      await Promise.all(names.slice(i, i + 50).map((name) => api.post(`/v1/${db}/${name}`)))
    }
    expect((await lines(['table', 'list', '--db', db, '--json'])).map((line) => JSON.parse(line).table)).toEqual(names)
  })
})

describe('cubby patch', () => {
  let address: string[]
  beforeAll(async () => {
    const db = newDb()
    await lines(['table', 'create', 'notes', '--db', db])
    address = ['--db', db, '--table', 'notes']
  })

  const patch = (key: string, ...flags: string[]): string[] => ['patch', ...address, key, ...flags]
  const patched = async (...args: string[]) => JSON.parse((await lines(patch('a', ...args)))[0]!)

  test('merges, adds and appends, and prints the record', async () => {
    await lines(['put', ...address, 'a', '--data', '{"n":1.50,"gone":1}'])
    const changes = [
      '--merge',
      '{"gone":null}',
      '--increment',
      '{"/n":12345678901234567890}',
      '--append',
      '{"/l":[1.0]}',
    ]
    const [line] = await lines(patch('a', ...changes))
    expect(line).toContain('"data":{"n":12345678901234567891.5,"l":[1.0]}')
    expect(await lines(['get', ...address, 'a'])).toEqual([line!])
    const [created] = await lines(['patch', ...address, 'new', 'r', '--increment', '{"/n":1}'])
    expect(JSON.parse(created!)).toMatchObject({ hashKey: 'new', rangeKey: 'r', data: { n: 1 } })
  })

  test('--ttl sets it, --no-ttl removes it, neither leaves it', async () => {
    expect((await patched('--ttl', '4102444800')).ttl).toBe(4102444800)
    expect((await patched('--merge', '{}')).ttl).toBe(4102444800)
    expect((await patched('--no-ttl')).ttl).toBeUndefined()
  })

  test('--if-absent and --if-match patch on condition, and a sum has bounds', async () => {
    const { updatedAt } = await patched('--merge', '{"s":"x","stock":0}')
    await expectRefused(patch('a', '--merge', '{}', '--if-absent'), 1, 'nothing was changed')
    await expectRefused(patch('a', '--merge', '{}', '--if-match', '1'), 1, `The record is at version ${updatedAt}`)
    await expectRefused(patch('a', '--increment', '{"/s":1}'), 1, 'increment["/s"] leads to "x"')
    await expectRefused(patch('a', '--increment', '{"/stock":{"by":-1,"min":0}}'), 1, 'The number is 0')
    await lines(patch('a', '--merge', '{}', '--if-match', String(updatedAt)))
  })

  test('what is missing or malformed is refused before anything is sent', async () => {
    await expectRefused(patch('a'), 2, '--merge, --increment, --append, --ttl or --no-ttl is missing')
    await expectRefused(patch('a', '--merge', '[1]'), 2, 'not a JSON object')
    await expectRefused(patch('a', '--increment', '{}, "ttl":1'), 2, 'JSON')
    await expectRefused(patch('a', '--ttl', '4102444800', '--no-ttl'), 2, 'cannot be combined')
  })
})

describe('cubby put and cubby get', () => {
  const data = '{ "n": 12345678901234567890, "f": 1.0,\n  "a": 1, "a": 2, "text": "\\ud800 ü" }'
  let address: string[]
  beforeAll(async () => {
    const db = newDb()
    await lines(['table', 'create', 'notes', '--db', db])
    address = ['--db', db, '--table', 'notes']
  })

  test('keep data exactly as it is written, from a flag and from standard input', async () => {
    const printed = await run(['put', ...address, 'flag', '--data', data])
    expect(printed.exitCode).toBe(0)
    expect(printed.stdout).toContain(`"data":${data},`)
    expect((await run(['get', ...address, 'flag'])).stdout).toBe(printed.stdout)
    await run(['put', ...address, 'input', 'r'], { stdin: `\n ${data}\n` })
    expect((await run(['get', ...address, 'input', 'r'])).stdout).toContain(`"data":${data},`)
  })

  test('take any key: with slashes, dashes in front, percent signs', async () => {
    const keys = ['a/b', '\\', '😀 ä', '%2e', '?#&', '"quoted"', '-dash', 'query']
    await Promise.all(
      keys.map(async (key) => {
        await lines(['put', ...address, '--data', '{"k":1}', '--', key, key])
        const [line] = await lines(['get', ...address, '--', key, key])
        expect(JSON.parse(line!)).toMatchObject({ hashKey: key, rangeKey: key, data: { k: 1 } })
      }),
    )
    await expectRefused(
      ['get', ...address, 'a/b'],
      1,
      'There is no record with that key. If it has a range key, give that',
    )
  })

  test('--ttl takes seconds and date-times', async () => {
    await lines(['put', ...address, 't', '--data', '{}', '--ttl', '4102444800'])
    expect(JSON.parse((await lines(['get', ...address, 't']))[0]!).ttl).toBe(4102444800)
    await lines(['put', ...address, 't', '--data', '{}', '--ttl', '2100-01-01T00:00:00.5Z'])
    expect(JSON.parse((await lines(['get', ...address, 't']))[0]!).ttl).toBe(4102444801)
  })

  test('--if-absent and --if-match write on condition', async () => {
    const put = ['put', ...address, 'c', '--data', '{}']
    await expectRefused([...put, '--if-match', '*'], 1, 'nothing was changed')
    const { updatedAt } = JSON.parse((await lines([...put, '--if-absent']))[0]!)
    await expectRefused([...put, '--if-absent'], 1, 'nothing was changed')
    await expectRefused([...put, '--if-match', String(updatedAt - 1)], 1, `The record is at version ${updatedAt}`)
    await lines([...put, '--if-match', String(updatedAt)])
  })

  test('CUBBY_DATA, the data directory of other commands, is not taken for the data', async () => {
    await lines(['put', ...address, 'env'], { stdin: '{"from":"stdin"}', env: { CUBBY_DATA: '/var/lib/cubby' } })
    expect((await lines(['get', ...address, 'env']))[0]).toContain('{"from":"stdin"}')
  })

  test('what would change the request around the data is refused', async () => {
    const put = ['put', ...address, 'x', '--data']
    await expectRefused([...put, '{},"ttl":1'], 2, 'the data is not JSON')
    await expectRefused([...put, '[1]'], 2, 'not a JSON object')
    await expectRefused(['put', ...address, 'x'], 2, 'the data is empty', { stdin: '' })
    await expectRefused([...put, '{}', '--ttl', 'soon'], 2, '--ttl is "soon"')
    await expectRefused(['get', ...address, '..'], 2, 'hashKey is ".."')
    await expectRefused(['get', ...address], 2, 'HASHKEY is missing')
    await expectRefused(['get', ...address, 'a', 'b', 'c'], 2, '"c" is one argument too many')
  })

  test('a put whose answer is lost is not sent again, and the message says that it may have been applied', async () => {
    let puts = 0
    const lost = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket) {
          puts++
          socket.end()
        },
      },
    })
    try {
      const env = { CUBBY_URL: `http://127.0.0.1:${lost.port}` }
      await expectRefused(['put', ...address, 'x', '--data', '{}'], 1, /no answer from .* may or may not/, { env })
      expect(puts).toBe(1)
    } finally {
      lost.stop(true)
    }
  })
})

describe('cubby query', () => {
  let address: string[]
  beforeAll(async () => {
    const db = newDb()
    address = ['--db', db, '--table', 'orders']
    const api = server.as(org.secretKey)
    await api.post(`/v1/${db}/orders`, {
      indices: { i1: { hashField: 'status', rangeField: 'placedAt' }, i2: { hashField: 'code' } },
    })
    for (let i = 1; i <= 9; i++) {
      const placedAt = `2026-01-0${i}T00:00:00Z`
      const code = [5, '5', true, 'true', 1.5, '"', '-', 'null', 1e21][i - 1]
      const body = {
        hashKey: i % 2 === 1 ? '5' : 'even',
        rangeKey: `r${i}`,
        data: { i, status: 'open', placedAt, code },
      }
      await api.put(`/v1/${db}/orders`, body)
    }
  })
  const found = async (...flags: string[]): Promise<number[]> =>
    (await lines(['query', ...address, ...flags])).map((line) => JSON.parse(line).data.i)

  test('by primary key: the hash key as it stands', async () => {
    expect(await found('--hash', '5')).toEqual([1, 3, 5, 7, 9])
    expect(await found('--hash', 'even', '--begins-with', 'r')).toEqual([2, 4, 6, 8])
    expect(await found('--hash', 'even', '--gt', 'r4', '--descending')).toEqual([8, 6])
    expect(await found('--hash', 'even', '--gte', 'r4', '--lte', 'r6')).toEqual([4, 6])
    expect(await found('--hash', 'nobody')).toEqual([])
  })

  test('by recency, newest first unless --ascending', async () => {
    expect(await found('--index', 't')).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
    expect(await found('--index', 't', '--ascending', '--gte', '2020-01-01T00:00:00Z')).toHaveLength(9)
    expect(await found('--index', 't', '--lt', '1577836800000')).toEqual([])
  })

  test('by a declared index: date-times are instants', async () => {
    const open = ['--index', 'i1', '--hash', 'open']
    expect(await found(...open, '--gte', '2026-01-07T00:00:00Z')).toEqual([7, 8, 9])
    expect(await found(...open, '--gte', '2026-01-03T01:00:00+01:00', '--lte', '1767571200000')).toEqual([3, 4, 5])
    expect(await found(...open, '--eq', '2026-01-02T00:00:00Z')).toEqual([2])
  })

  test('a lower and an upper bound, each inclusive or not', async () => {
    const open = ['--index', 'i1', '--hash', 'open']
    const [low, high] = ['2026-01-03T00:00:00Z', '2026-01-05T00:00:00Z']
    expect(await found(...open, '--gte', low, '--lt', high)).toEqual([3, 4])
    expect(await found(...open, '--gt', low, '--lt', high)).toEqual([4])
    expect(await found(...open, '--lte', high, '--gt', low, '--descending')).toEqual([5, 4])
    expect(await found(...open, '--gte', low, '--lt', low)).toEqual([])
    expect(await found('--hash', 'even', '--gt', 'r2', '--lt', 'r8', '--limit', '1', '--all')).toEqual([4, 6])
    await expectRefused(['query', ...address, ...open, '--gte', high, '--lt', low], 1, 'low bound above its high one')
  })

  test('--select keys prints the records without data', async () => {
    const flags = ['--hash', 'even', '--gte', 'r4']
    const whole = await lines(['query', ...address, ...flags])
    const keys = await lines(['query', ...address, ...flags, '--select', 'keys'])
    expect(keys.map((line) => JSON.parse(line))).toEqual(
      whole.map((line) => {
        const { data: _, ...head } = JSON.parse(line)
        return head
      }),
    )
    expect(keys).toHaveLength(3)
    expect(await lines(['query', ...address, ...flags, '--select', 'data'])).toEqual(whole)
  })

  test('--select count prints one number: of all records, or of --limit of them', async () => {
    const count = (...flags: string[]) => run(['query', ...address, '--select', 'count', ...flags])
    expect(await count('--index', 't')).toMatchObject({ stdout: '9\n', stderr: '', exitCode: 0 })
    expect(await count('--hash', 'nobody')).toMatchObject({ stdout: '0\n', stderr: '', exitCode: 0 })
    const first = await count('--index', 't', '--limit', '4')
    expect(first.stdout).toBe('4\n')
    const [, cursor] = /^there is more: add --all, or --cursor (\S+)\n$/.exec(first.stderr)!
    expect(await count('--index', 't', '--cursor', cursor!)).toMatchObject({ stdout: '5\n', stderr: '' })
    expect(await count('--index', 't', '--limit', '4', '--all')).toMatchObject({ stdout: '9\n', stderr: '' })
    expect(await count('--index', 't', '--limit', '9')).toMatchObject({ stdout: '9\n', stderr: '' })
    expect(JSON.parse((await count('--index', 't', '--limit', '4', '--page')).stdout)).toEqual({
      items: [],
      count: 4,
      cursor: expect.any(String),
    })
  })

  test('--select count goes on where an answer counted less than --limit, as it may with many expired records', async () => {
    const asked: unknown[] = []
    const answers = [0, 3, 2, 7].map((count, i) => ({ items: [], count, cursor: `c${i}` }))
    const short = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { limit, cursor } = (await request.json()) as { limit?: number; cursor?: string }
        asked.push([limit, cursor])
        return Response.json(answers[asked.length - 1])
      },
    })
    try {
      const flags = ['--index', 't', '--select', 'count', '--limit', '5']
      const result = await run(['query', ...address, ...flags], { env: { CUBBY_URL: short.url.origin } })
      expect(result).toMatchObject({ stdout: '5\n', stderr: 'there is more: add --all, or --cursor c2\n', exitCode: 0 })
      expect(asked).toEqual([
        [5, undefined],
        [5, 'c0'],
        [2, 'c1'],
      ])
    } finally {
      await short.stop(true)
    }
  })

  test('index values: numbers, booleans, strings; quotes make a string of what looks like another', async () => {
    const by = (hash: string) => found('--index', 'i2', `--hash=${hash}`)
    expect(await by('5')).toEqual([1])
    expect(await by('5.0')).toEqual([1])
    expect(await by('"5"')).toEqual([2])
    expect(await by('true')).toEqual([3])
    expect(await by('"true"')).toEqual([4])
    expect(await by('1.5')).toEqual([5])
    expect(await by('"')).toEqual([6])
    expect(await by('-')).toEqual([7])
    expect(await by('null')).toEqual([8])
    expect(await by('1000000000000000000000')).toEqual([9])
  })

  test('one page unless --all; what is left is told on standard error, with the cursor that goes on', async () => {
    const first = await run(['query', ...address, '--index', 't', '--limit', '4'])
    expect(linesOf(first.stdout)).toHaveLength(4)
    const [, cursor] = /^there is more: add --all, or --cursor (\S+)\n$/.exec(first.stderr)!
    const rest = await run(['query', ...address, '--index', 't', '--limit', '1000', '--cursor', cursor!])
    expect(linesOf(rest.stdout)).toHaveLength(5)
    expect(rest.stderr).toBe('')
    expect(await found('--index', 't', '--limit', '2', '--all')).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
  })

  test('--page prints the page as the service answers it', async () => {
    const [page] = await lines(['query', ...address, '--hash', 'even', '--limit', '3', '--page'])
    const path = `/v1/${address[1]}/orders/query`
    expect(`${page}\n`).toBe((await server.as(org.secretKey).post(path, { hash: 'even', limit: 3 })).text)
  })

  test('every record is one line, its numbers and members as they were put', async () => {
    await run(['put', ...address, 'multi', '--data', '{\n "n": 1.0,\n "big": 12345678901234567890,\n "s": "a b" }'])
    const [line] = await lines(['query', ...address, '--hash', 'multi'])
    expect(line).toContain('"data":{"n":1.0,"big":12345678901234567890,"s":"a b"}')
  })

  test('mistakes in the call, exit 2', async () => {
    const query = ['query', ...address]
    await expectRefused(query, 2, '--hash VALUE is missing')
    await expectRefused([...query, '--index', 'i9', '--hash', 'a'], 2, '--index is "i9"')
    for (const pair of [
      ['--gt', '1', '--gte', '2'],
      ['--lt', '1', '--lte', '2'],
      ['--eq', '1', '--lt', '2'],
      ['--begins-with', '1', '--gt', '2'],
      ['--gt', '1', '--lt', '3', '--lte', '2'],
    ]) {
      await expectRefused([...query, '--hash', 'a', ...pair], 2, '--gt or --gte together with --lt or --lte')
    }
    await expectRefused(
      [...query, '--hash', 'a', '--select', 'all'],
      2,
      '--select is "all"; it takes data, keys or count',
    )
    await expectRefused([...query, '--hash', 'a', '--limit', '0'], 2, '--limit is "0"')
    await expectRefused([...query, '--hash', 'a', '--ascending', '--descending'], 2, 'cannot be combined')
    await expectRefused([...query, '--hash', 'a', '--index', 't'], 2, '--hash and --index t cannot be combined')
    await expectRefused([...query, '--begins-with', 'a', '--index', 't'], 2, '--begins-with is for strings')
    await expectRefused([...query, '--hash', 'a', '--all', '--page'], 2, 'cannot be combined')
    await expectRefused(['query', '--db', address[1]!, '--hash', 'a'], 2, '--table NAME is missing')
    await expectRefused(['query', '--table', '../keys', '--db', 'app', '--hash', 'a'], 2, '--table is "../keys"')
  })
})

describe('cubby bucket', () => {
  test('create, describe, list, drop, restore: what the HTTP API answers; errors name the commands', async () => {
    const db = newDb()
    const created = await lines(['bucket', 'create', 'avatars', '--db', db])
    expect([`${created}\n`]).toEqual([(await server.as(org.secretKey).get(`/v1/${db}/_buckets/avatars`)).text])
    expect(await lines(['bucket', 'create', 'avatars', '--db', db])).toEqual(created)
    expect(await lines(['bucket', 'describe', 'avatars', '--db', db])).toEqual(created)
    await lines(['bucket', 'create', 'albums', '--db', db])
    const listed = (await lines(['bucket', 'list', '--db', db, '--json'])).map((line) => JSON.parse(line).bucket)
    expect(listed).toEqual(['albums', 'avatars'])
    const table = (await lines(['bucket', 'list', '--db', db])).map((line) => line.split(/ {2,}/))
    expect(table[0]).toEqual(['BUCKET', 'STATUS', 'CREATED', 'DELETED', 'ID'])
    expect(table[2]).toEqual(['avatars', 'active', expect.any(String), '-', JSON.parse(created[0]!).id])
    const [dropped] = await lines(['bucket', 'drop', 'avatars', '--db', db])
    expect(await lines(['bucket', 'list', '--db', db, '--deleted', '--json'])).toEqual([dropped!])
    const { deletedAt, recoverableUntil } = JSON.parse(dropped!)
    const gone = await run(['bucket', 'describe', 'avatars', '--db', db])
    const until = new Date(recoverableUntil).toISOString()
    expect(gone.stderr).toBe(
      `cubby: The bucket avatars in database ${db} was deleted. Restore it until ${until}: cubby bucket restore avatars --db ${db}; or create a new, empty bucket: cubby bucket create avatars --db ${db}\n`,
    )
    const never = await run(['bucket', 'restore', 'avatars', '--db', db, '--deleted-at', '1'])
    expect(never.stderr).toBe(
      `cubby: No recoverable bucket avatars was deleted at 1. See cubby bucket list --db ${db} --deleted, or leave deletedAt out for the newest.\n`,
    )
    await lines(['bucket', 'create', 'avatars', '--db', db])
    const taken = await run(['bucket', 'restore', 'avatars', '--db', db])
    expect(taken.stderr).toBe(
      `cubby: An active bucket has the name avatars. Delete it first (cubby bucket drop avatars --db ${db}), then restore with --deleted-at ${deletedAt}.\n`,
    )
    await lines(['bucket', 'drop', 'avatars', '--db', db])
    expect(await lines(['bucket', 'restore', 'avatars', '--db', db, '--deleted-at', String(deletedAt)])).toEqual(
      created,
    )
    await expectRefused(['bucket', 'create', '../x', '--db', db], 2, 'NAME is "../x"')
    await expectRefused(
      ['bucket', 'restore', 'avatars', '--db', db, '--deleted-at', 'x'],
      2,
      'cubby bucket list --deleted',
    )
  })
})

describe("errors are the server's own message with a hint for the shell, on standard error, exit 1", () => {
  test('an unknown table', async () => {
    const db = newDb()
    const { stderr, exitCode } = await run(['get', '--db', db, '--table', 'nope', 'a'])
    expect({ stderr, exitCode }).toEqual({
      stderr: `cubby: There is no table nope in database ${db}. Create it with the indices that it needs, which cannot be changed later: cubby table create nope --db ${db}\n`,
      exitCode: 1,
    })
  })

  test('a dropped table, and one whose name is taken', async () => {
    const db = newDb()
    const address = ['--db', db, '--table', 'orders']
    await lines(['table', 'create', 'orders', '--db', db])
    const [dropped] = await lines(['table', 'drop', 'orders', '--db', db])
    const { deletedAt, recoverableUntil } = JSON.parse(dropped!)
    const until = new Date(recoverableUntil).toISOString()
    const gone = await run(['put', 'a', '--data', '{}', ...address])
    expect(gone.stderr).toBe(
      `cubby: The table orders in database ${db} was deleted. Restore it until ${until}: cubby table restore orders --db ${db}; or create a new, empty table: cubby table create orders --db ${db}\n`,
    )
    const never = await run(['table', 'restore', 'orders', '--db', db, '--deleted-at', '1'])
    expect(never.stderr).toBe(
      `cubby: No recoverable table orders was deleted at 1. See cubby table list --db ${db} --deleted, or leave deletedAt out for the newest.\n`,
    )
    await lines(['table', 'create', 'orders', '--db', db])
    const taken = await run(['table', 'restore', 'orders', '--db', db])
    expect(taken.stderr).toBe(
      `cubby: An active table has the name orders. Delete it first (cubby table drop orders --db ${db}), then restore with --deleted-at ${deletedAt}.\n`,
    )
  })

  test('an address with a path', async () => {
    const env = { CUBBY_URL: `${server.url}/cubby` }
    await expectRefused(['table', 'list', '--db', 'app'], 1, 'Give --url without a path', { env })
  })

  test('a public key that writes', async () => {
    const env = { CUBBY_KEY: org.publicKey }
    await expectRefused(['table', 'create', 'a', '--db', newDb()], 1, 'needs a secret key', { env })
  })

  test('an index that is not declared', async () => {
    const db = newDb()
    await lines(['table', 'create', 'a', '--db', db])
    await expectRefused(['query', '--db', db, '--table', 'a', '--index', 'i1', '--hash', 'x'], 1, 'i1')
  })

  test('no key, a key that is none, a server that is not there, one that is not Cubby', async () => {
    const list = ['table', 'list', '--db', 'app']
    await expectRefused(list, 2, 'set CUBBY_KEY or give --key', { env: { CUBBY_KEY: undefined } })
    await expectRefused([...list, '--key', 'svc_live_x'], 1, 'API key')
    const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('hello', { status: 404 }) })
    const url = `http://127.0.0.1:${other.port}`
    await expectRefused(list, 1, 'is it a Cubby server?', { env: { CUBBY_URL: url } })
    await other.stop(true)
    await expectRefused(list, 1, /no answer from .* nothing listens there/, { env: { CUBBY_URL: url } })
  })

  test('the key never appears in a message', async () => {
    const middleman = startMiddleman(server.url)
    await middleman.stop()
    const { stderr } = await run(['table', 'list', '--db', 'app', '--url', middleman.url])
    expect(stderr).not.toContain(org.secretKey)
  })
})
