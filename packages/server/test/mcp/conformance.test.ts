import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CommandResult, makeTempDir, removeTempDir, type Server, startServer } from '../harness.ts'
import { startKeyProxy } from './key-proxy.ts'

// The official conformance suite, everything that it has for servers at a revision. It is a program without exports, so it
// runs once for each revision. It also checks each message of ours against the JSON schema of the specification
// (`wire-schema-valid`).

setDefaultTimeout(120_000)

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))

/** These must pass as a whole, but for the named checks of the baseline. */
const required: Record<string, string[]> = {
  '2026-07-28': [
    'server-stateless',
    'http-header-validation',
    'caching',
    'dns-rebinding-protection',
    'tools-list',
    'resources-list',
    'prompts-list',
    'sep-2164-resource-not-found',
  ],
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
}

interface Check {
  scenario: string
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  errorMessage?: string
}

/** A warning is about a SHOULD; the suite's own judgement counts it too. */
const isFailed = ({ status }: Check): boolean => status === 'FAILURE' || status === 'WARNING'

const readChecks = (dir: string): Check[] =>
  readdirSync(dir).flatMap((name) => {
    const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(name)![1]!
    const checks: Omit<Check, 'scenario'>[] = JSON.parse(readFileSync(join(dir, name, 'checks.json'), 'utf8'))
    return checks.map((check) => ({ scenario, ...check }))
  })

let server: Server
let proxy: ReturnType<typeof startKeyProxy>
const dir = makeTempDir()

beforeAll(async () => {
  server = await startServer({ shared: true })
  const { secretKey } = await server.createOrganization()
  proxy = startKeyProxy(server.url, secretKey)
})

afterAll(async () => {
  await proxy?.stop(true)
  await server?.stop()
  removeTempDir(dir)
})

const runSuite = async (revision: string, baseline: string, output: string): Promise<CommandResult> => {
  const place = ['--url', `http://127.0.0.1:${proxy.port}/mcp`, '-o', output]
  const what = ['--requirements', revision, '--expected-failures', baseline]
  const child = Bun.spawn([process.execPath, program, 'server', ...place, ...what], { stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { exitCode: await child.exited, stdout, stderr }
}

for (const revision of Object.keys(required)) {
  describe(revision, () => {
    const baseline = join(import.meta.dir, `conformance-${revision}.yml`)
    const expected = (Bun.YAML.parse(readFileSync(baseline, 'utf8')) as { server: string[] }).server
    let result: CommandResult
    let checks: Check[]
    beforeAll(async () => {
      result = await runSuite(revision, baseline, join(dir, revision))
      checks = readChecks(join(dir, revision))
    })

    test('what fails is what the baseline names, and nothing that it names passes', () => {
      const nameOf = ({ scenario, id }: Check): string => (expected.includes(scenario) ? scenario : `${scenario}:${id}`)
      const failed = checks.filter(isFailed).map(nameOf)
      expect([...new Set(failed)].sort()).toEqual(expected.toSorted())
      expect({ ...result, stdout: result.stdout.slice(-2_000) }).toMatchObject({ exitCode: 0 })
    })

    test('each message of the server is valid by the schema of the specification', () => {
      const valid = checks.filter(({ id }) => id === 'wire-schema-valid')
      expect(valid.length).toBeGreaterThan(20)
      expect(valid.filter(({ status }) => status !== 'SUCCESS')).toEqual([])
    })

    test.each(required[revision]!)('%s', (name) => {
      const own = checks.filter(({ scenario, id }) => scenario === name && !expected.includes(`${name}:${id}`))
      expect(own.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(0)
      expect(own.filter(isFailed)).toEqual([])
    })
  })
}
