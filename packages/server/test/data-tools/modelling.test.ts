import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeTempDir, type Organization, removeTempDir, type Server, startServer } from '../harness.ts'
import { makeCommands, runShellBlocks } from './shell-blocks.ts'

// docs/modelling.md promises that each pattern works as shown, on every engine.

setDefaultTimeout(300_000)

const page = resolve(import.meta.dir, '../../../../docs/modelling.md')
let dir: string
let server: Server
let org: Organization

beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer({ shared: true })
  org = await server.createOrganization()
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

test('docs/modelling.md: every command works as it is pasted, and prints what is shown', async () => {
  const commands = makeCommands(join(dir, 'commands'))
  const env = { CUBBY_URL: server.url, CUBBY_KEY: org.secretKey }
  expect(await runShellBlocks(page, { cwd: dir, commands, env })).toBeGreaterThan(15)
})

test('docs/modelling.md: every pattern has an example whose output is shown', () => {
  const sections = readFileSync(page, 'utf8').split(/^## /m).slice(1)
  const without = sections
    .filter((text) => !/^```sh\n[^`]*^```\n\n```text\n[^`]+^```$/m.test(text))
    .map((text) => text.split('\n')[0])
  expect(without).toEqual(['How records are found', 'Before you paste', 'What not to do', 'What it is called here'])
})
