import { alternate, measuringLoad } from './alternate.ts'
import { cleanUp, cleanUpAtExit, temporaryDirectory } from './cleanup.ts'
import { httpRequest, record } from './load/template.ts'
import { callCubby, createOrganization, serveCubby } from './subjects/cubby.ts'

// Puts into a table that nobody follows, into one that keeps its changes, and into one that tasks follow: in turn, each of another
// record. The tasks are paused, so every put adds runs and nobody takes them.
// Run it alone: npx bun bench/following.ts [rounds] [seconds] [tasks] [URL of a PostgreSQL database]

const [rounds, seconds, tasks] = [8, 2, 1].map((usual, i) => Number(process.argv[2 + i] ?? usual)) as [
  number,
  number,
  number,
]
const storeUrl = process.argv[5]
/** So many that a put hardly ever meets a record. */
const shape = { records: 100_000_000, groups: 1 }

cleanUpAtExit()
const data = ['--data', `${temporaryDirectory()}/following`]
const location = storeUrl === undefined ? data : [...data, '--store', storeUrl]
const apiKey = await createOrganization(location)
const server = await serveCubby(location)
const declarations = { plain: {}, changes: { changes: {} }, followed: {} }
for (const [name, declaration] of Object.entries(declarations)) {
  await callCubby(server, apiKey, 'POST', `/v1/bench/${name}`, declaration)
}
for (let n = 0; n < tasks; n++) {
  await callCubby(server, apiKey, 'PUT', `/v1/bench/_tasks/index-${n}`, { on: { table: 'followed' }, paused: true })
}

const measure = (name: string) => {
  const parts = httpRequest({
    method: 'PUT',
    path: [`/v1/bench/${name}`],
    headers: { Authorization: `Bearer ${apiKey}` },
    body: ['{"hashKey":"', record(), `","data":{"status":"open","text":"${'x'.repeat(300)}"}}`],
  })
  return measuringLoad({ server, parts, shape, seconds })
}
await alternate(Object.fromEntries(Object.keys(declarations).map((name) => [name, measure(name)])), rounds)
await server.stop()
await cleanUp()
process.exit(0)
