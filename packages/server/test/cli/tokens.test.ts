import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asClient, linesOf, runCommand } from '../data-tools/commands.ts'
import { type Json, makeTempDir, type Organization, removeTempDir, type Server, startServer } from '../harness.ts'

// The shell is where an operator ends the tokens of somebody, and declares who may hand out tokens.

setDefaultTimeout(120_000)

let server: Server
let org: Organization
let dir: string

beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer()
  org = await server.createOrganization()
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

const run = (args: string[], stdin?: string) => runCommand(args, { env: asClient(server, org), stdin })

const object = async (args: string[], stdin?: string): Promise<Json> => {
  const { exitCode, stdout, stderr } = await run(args, stdin)
  expect({ exitCode, stderr, args }).toEqual({ exitCode: 0, stderr: '', args })
  const lines = linesOf(stdout)
  expect(lines).toHaveLength(1)
  return JSON.parse(lines[0]!)
}

const grants = [{ db: 'app', table: 'notes', hash: 'ada', can: 'write' }]

test('a token that is made works, for its time, until its user is revoked', async () => {
  const made = await object(['tokens', 'create', 'ada', '--grants', JSON.stringify(grants), '--expires-in', '15m'])
  expect(made).toEqual({
    token: expect.stringMatching(/^svc_user_/),
    user: 'ada',
    grants,
    expiresAt: expect.any(Number),
  })
  const other = await object(['tokens', 'create', 'ada', '--grants', JSON.stringify(grants)])
  expect(Math.round((other.expiresAt - made.expiresAt) / 60_000)).toBe(45)
  const self = () => server.as(made.token).get('/api/tokens/self')
  expect((await self()).body).toEqual({ user: 'ada', grants, expiresAt: made.expiresAt })
  expect(await object(['tokens', 'revoke', 'ada'])).toEqual({ user: 'ada', revokedAt: expect.any(Number) })
  expect((await self()).body.error.code).toBe('revoked_token')
})

test('the grants and the user are what the service says, in its words', async () => {
  const { exitCode, stdout, stderr } = await run(['tokens', 'create', 'ada', '--grants', '[{"db":"app"}]'])
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toStartWith('cubby: grants[0] names no table, bucket or task')
  expect((await run(['tokens', 'revoke', ''])).stderr).toContain('user is ""')
})

test('an issuer is put from a file or standard input, listed, and deleted', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256' }] }
  const declaration = { issuer: 'https://login.test/', audience: 'notes', keys, grants }
  const file = join(dir, 'login.json')
  writeFileSync(file, JSON.stringify(declaration, null, 2))
  const put = await object(['issuers', 'put', 'login', file])
  expect(put).toMatchObject({ name: 'login', ...declaration })
  expect(await object(['issuers', 'put', 'login', '-'], JSON.stringify(declaration))).toEqual(put)
  expect(await object(['issuers', 'get', 'login'])).toEqual(put)
  expect(await object(['issuers', 'list', '--json'])).toEqual({ issuers: [put] })
  expect(linesOf((await run(['issuers', 'list'])).stdout)).toEqual([
    'NAME   ISSUER               AUDIENCE',
    'login  https://login.test/  notes',
  ])
  expect(await object(['issuers', 'delete', 'login'])).toEqual({ deleted: true })
  expect(await object(['issuers', 'delete', 'login'])).toEqual({ deleted: false })
  expect(linesOf((await run(['issuers', 'list'])).stdout)).toEqual(['no issuers'])
  expect((await run(['issuers', 'get', 'login'])).stderr).toContain('login')
  expect((await run(['issuers', 'put', 'login', join(dir, 'none.json')])).stderr).toContain('cannot be read')
  expect((await run(['issuers', 'put', 'login', '-'], '[]')).stderr).toContain('the declaration is not a JSON object')
})
