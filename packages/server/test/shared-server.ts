import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openEngine } from '../src/engines/open-engine.ts'
import { createOrganization, presentNewOrganization } from '../src/operations/organizations/create-organization.ts'
import { type SharedServerFile, startServer, storeUrl } from './harness.ts'

// One server process for all files that need no flags, no restart and no clock of their own; each takes organizations that
// are made here. Without it (one file alone) `startServer({ shared: true })` starts a server for the file.

const organizationsMax = 150

export const startSharedServer = async (): Promise<{ env: Record<string, string>; stop: () => Promise<number> }> => {
  const server = await startServer()
  const { url, dataDir } = server
  const organizationsDir = join(dataDir, 'organizations')
  mkdirSync(organizationsDir)
  const engine = await openEngine({ data: dataDir, store: storeUrl(dataDir) }, { role: 'guest', mustExist: true })
  for (let index = 0; index < organizationsMax; index++) {
    const made = await createOrganization({ engine }, { name: `shared-${index}` }, Date.now())
    writeFileSync(join(organizationsDir, `${index}.json`), JSON.stringify(presentNewOrganization(made!)))
  }
  await engine.close()
  const place: SharedServerFile = { url, dataDir, organizationsDir }
  return { env: { CUBBY_TEST_SERVER: JSON.stringify(place) }, stop: () => server.stop() }
}
