import { alternate, measuringLoad } from './alternate.ts'
import { cleanUp, cleanUpAtExit, temporaryDirectory } from './cleanup.ts'
import { httpRequest } from './load/template.ts'
import { callCubby, createOrganization, serveCubby } from './subjects/cubby.ts'

// Gets of one record with an API key, with a user token of three grants, and with one of nearly 4,096 characters, in turn.
// Run it alone: npx bun bench/users.ts [rounds] [seconds]

const [rounds, seconds] = [10, 2].map((usual, i) => Number(process.argv[2 + i] ?? usual)) as [number, number]
const path = '/v1/bench/notes'

cleanUpAtExit()
const location = ['--data', `${temporaryDirectory()}/users`]
const apiKey = await createOrganization(location)
const server = await serveCubby(location)
await callCubby(server, apiKey, 'POST', path, {})
await callCubby(server, apiKey, 'PUT', path, { hashKey: 'ada', data: { status: 'open', text: 'x'.repeat(300) } })

/** The one that allows the request is the last. */
const grantsOf = (count: number, bytes: number): object[] => [
  ...Array.from({ length: count - 1 }, (_, n) => ({
    ...{ db: 'bench', table: `others-${n}`, hash: `${n}`.padEnd(bytes, 'x'), can: 'write' },
  })),
  { db: 'bench', table: 'notes', hash: 'ada', can: 'read' },
]
const tokenOf = async (grants: object[]): Promise<string> =>
  (await callCubby(server, apiKey, 'POST', '/api/tokens', { user: 'ada', grants })).token

const measure = (bearer: string) => {
  const headers = { Authorization: `Bearer ${bearer}` }
  const parts = httpRequest({ method: 'GET', path: [`${path}/ada`], headers })
  return measuringLoad({ server, parts, shape: { records: 1, groups: 1 }, seconds })
}
const long = await tokenOf(grantsOf(25, 55))
console.log(`the long token has ${long.length} characters`)
await alternate({ key: measure(apiKey), token: measure(await tokenOf(grantsOf(3, 8))), long: measure(long) }, rounds)
await server.stop()
await cleanUp()
process.exit(0)
