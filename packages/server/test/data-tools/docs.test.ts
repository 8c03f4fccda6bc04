import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join, resolve } from 'node:path'
import { makeTempDir, type Organization, removeTempDir, type Server, startServer, storeIsEmbedded } from '../harness.ts'
import { makeCommands, runShellBlocks } from './shell-blocks.ts'

setDefaultTimeout(300_000)

const page = resolve(import.meta.dir, '../../../../docs/data-tools.md')
let dir: string
let server: Server
let org: Organization

beforeAll(async () => {
  dir = makeTempDir()
  server = await startServer({ dataDir: join(dir, 'cubby-data') })
  org = await server.createOrganization('default')
})
afterAll(async () => {
  await server?.stop()
  removeTempDir(dir)
})

test.skipIf(!storeIsEmbedded())(
  'docs/data-tools.md: every command works as it is pasted, and prints what is shown',
  async () => {
    const commands = makeCommands(join(dir, 'commands'))
    const env = { CUBBY_URL: server.url, CUBBY_KEY: org.secretKey }
    expect(await runShellBlocks(page, { cwd: dir, commands, env })).toBeGreaterThan(12)
  },
)
