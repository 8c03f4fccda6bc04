import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  type CommandResult,
  makeTempDir,
  removeTempDir,
  runCubby,
  runCubbyJson,
  type Server,
  startServer,
  storeArguments,
} from '../harness.ts'
import { ok } from '../http/service.ts'

setDefaultTimeout(120_000)

const keyPattern = (kind: string) => new RegExp(`svc_${kind}_[0-9A-Za-z]{38}`)

let dir: string
beforeAll(() => {
  dir = makeTempDir()
})
afterAll(() => removeTempDir(dir))

const cubby = (...args: string[]): Promise<CommandResult> => runCubby([...args, ...storeArguments(dir)])

describe('orgs create', () => {
  test('makes the organization and shows its first secret and public key', async () => {
    const { exitCode, stdout, stderr } = await cubby('orgs', 'create', 'shown')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toContain('shown')
    expect(stdout).toMatch(keyPattern('live'))
    expect(stdout).toMatch(keyPattern('pub'))
  })

  test('--json: { id, name, secretKey, publicKey }', async () => {
    const org = await runCubbyJson(dir, ['orgs', 'create', 'as-json'])
    expect(Object.keys(org).sort()).toEqual(['id', 'name', 'publicKey', 'secretKey'])
    expect(org.name).toBe('as-json')
    expect(org.secretKey).toMatch(/^svc_live_[0-9A-Za-z]{38}$/)
    expect(org.publicKey).toMatch(/^svc_pub_[0-9A-Za-z]{38}$/)
  })

  test('a name that is taken: exit 1, one line, no keys, the organization as it was', async () => {
    const org = await runCubbyJson(dir, ['orgs', 'create', 'taken'])
    for (const more of [[], ['--json']]) {
      const { exitCode, stdout, stderr } = await cubby('orgs', 'create', 'taken', ...more)
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
      expect(stderr).toMatch(/^cubby: [^\n]*taken[^\n]*\n$/)
    }
    const { keys } = await runCubbyJson(dir, ['keys', 'list', '--org', 'taken'])
    expect(keys.length).toBe(2)
    expect(keys.map((key: { masked: string }) => key.masked.slice(-4)).sort()).toEqual(
      [org.secretKey.slice(-4), org.publicKey.slice(-4)].sort(),
    )
  })

  for (const name of ['Acme', 'a b', '', 'a/b', 'é', 'x'.repeat(65), '_private']) {
    test(`${JSON.stringify(name.slice(0, 12))} breaks the rule of table names: refused in one line, exit 2`, async () => {
      const { exitCode, stdout, stderr } = await cubby('orgs', 'create', name)
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
      expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
    })
  }

  test('64 characters of a-z, 0-9, _ and - are a name', async () => {
    const name = `0-9_${'a'.repeat(60)}`
    expect(await runCubbyJson(dir, ['orgs', 'create', name])).toMatchObject({ name })
  })
})

describe('orgs list', () => {
  test('names every organization, without keys', async () => {
    const org = await runCubbyJson(dir, ['orgs', 'create', 'listed'])
    const plain = await cubby('orgs', 'list')
    expect(plain).toMatchObject({ exitCode: 0, stderr: '' })
    expect(plain.stdout).toMatch(/^listed\b/m)
    const { organizations } = await runCubbyJson(dir, ['orgs', 'list'])
    const found = organizations.find(({ name }: { name: string }) => name === 'listed')
    expect(found).toEqual({ id: org.id, name: 'listed', status: 'active', createdAt: expect.any(Number) })
    expect(plain.stdout + JSON.stringify(organizations)).not.toContain('svc_')
  })

  test('where no store is: exit 1, one line, and none is made', async () => {
    const none = makeTempDir()
    try {
      const { exitCode, stdout, stderr } = await runCubby(['orgs', 'list', '--data', none])
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
      expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
      expect([...new Bun.Glob('**').scanSync({ cwd: none })]).toEqual([])
    } finally {
      removeTempDir(none)
    }
  })
})

describe('orgs delete and orgs restore', () => {
  const line = /^cubby: [^\n]+\n$/
  const list = async (name: string) => {
    const { organizations } = await runCubbyJson(dir, ['orgs', 'list'])
    return organizations.find((one: { name: string }) => one.name === name)
  }

  test('without the name once more, or with another: exit 2, and nothing is deleted', async () => {
    await runCubbyJson(dir, ['orgs', 'create', 'guarded'])
    for (const more of [[], ['--confirm', 'guardet'], ['--confirm', ''], ['--confirm', 'Guarded']]) {
      const { exitCode, stdout, stderr } = await cubby('orgs', 'delete', 'guarded', ...more)
      expect({ more, exitCode, stdout }).toEqual({ more, exitCode: 2, stdout: '' })
      expect(stderr).toMatch(line)
      expect(stderr).toContain('nothing was deleted')
    }
    expect(await list('guarded')).toMatchObject({ status: 'active' })
  })

  test('a name that no organization has, or none can have: one line', async () => {
    for (const [name, code] of [
      ['nobody', 1],
      ['No Body', 2],
    ] as const) {
      for (const args of [
        ['delete', name, '--confirm', name],
        ['restore', name],
        ['export', name, '--to', `${dir}/none`],
      ]) {
        const { exitCode, stdout, stderr } = await cubby('orgs', ...args)
        expect({ args, exitCode, stdout }).toEqual({ args, exitCode: code, stdout: '' })
        expect(stderr).toMatch(line)
      }
    }
  })

  test('a deleted one is listed as such, keeps its name, and is not used by other commands until it is restored', async () => {
    await runCubbyJson(dir, ['orgs', 'create', 'ends'])
    const { exitCode, stdout, stderr } = await cubby('orgs', 'delete', 'ends', '--confirm', 'ends')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^deleted ends; cubby orgs restore ends brings it back until 20[^\n]+Z\n$/)
    const shown = await list('ends')
    expect(shown).toMatchObject({ status: 'deleted', recoverableUntil: shown.deletedAt + 7 * 24 * 60 * 60 * 1000 })
    expect((await cubby('orgs', 'list')).stdout).toMatch(/^ends +\S+ +deleted, restorable until 20\S+Z$/m)

    for (const args of [
      ['orgs', 'create', 'ends'],
      ['keys', 'list', '--org', 'ends'],
      ['keys', 'create', '--org', 'ends', '--kind', 'secret'],
      ['console', 'link', '--org', 'ends'],
    ]) {
      const refusedNow = await cubby(...args)
      expect({ args, exitCode: refusedNow.exitCode, stdout: refusedNow.stdout }).toEqual({
        args,
        exitCode: 1,
        stdout: '',
      })
      expect(refusedNow.stderr).toMatch(line)
      expect(refusedNow.stderr).toContain('cubby orgs restore ends')
    }
    const again = await cubby('orgs', 'delete', 'ends', '--confirm', 'ends')
    expect(again.exitCode).toBe(0)
    expect(again.stdout).toContain('deleted ends already')
    expect(await list('ends')).toEqual(shown)

    expect(await cubby('orgs', 'restore', 'ends')).toEqual({ exitCode: 0, stdout: 'restored ends\n', stderr: '' })
    expect((await cubby('orgs', 'restore', 'ends')).stdout).toBe('ends is not deleted; nothing was changed\n')
    expect((await runCubbyJson(dir, ['keys', 'list', '--org', 'ends'])).keys).toHaveLength(2)
    expect(await runCubbyJson(dir, ['orgs', 'delete', 'ends', '--confirm', 'ends'])).toMatchObject({
      status: 'deleted',
    })
    expect(await runCubbyJson(dir, ['orgs', 'restore', 'ends'])).toMatchObject({ name: 'ends', status: 'active' })
  })
})

describe('while a server is running', () => {
  let server: Server
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(async () => {
    await server.stop()
  })

  test('an organization works from the moment the command exits', async () => {
    for (const name of ['first', 'second', 'third']) {
      const org = await server.createOrganization(name)
      ok(await server.as(org.secretKey).post('/v1/app/notes'), 201)
      ok(await server.as(org.publicKey).get('/v1/app/notes'))
    }
    const { organizations } = await server.cubbyJson('orgs', 'list')
    expect(organizations.map(({ name }: { name: string }) => name)).toEqual(['first', 'second', 'third'])
  })

  test('of several commands that make one name at once, one does', async () => {
    const results = await Promise.all(
      Array.from({ length: 4 }, () => server.cubby('orgs', 'create', 'contested', '--json')),
    )
    expect(results.map(({ exitCode }) => exitCode).sort()).toEqual([0, 1, 1, 1])
    const { secretKey } = JSON.parse(results.find(({ exitCode }) => exitCode === 0)!.stdout)
    ok(await server.as(secretKey).get('/v1'))
  })
})
