import { alternate, type Measure, measuring, measuringLoad } from './alternate.ts'
import { cleanUp, cleanUpAtExit, temporaryDirectory, trackCloser } from './cleanup.ts'
import { RawClient } from './load/raw-client.ts'
import { httpRequest, type Part, record } from './load/template.ts'
import { callCubby, createOrganization, fillTable, serveCubby } from './subjects/cubby.ts'
import { CubbyDialect } from './subjects/cubby-dialect.ts'
import { ownChildren, processTree } from './subjects/process-usage.ts'
import { getRecords } from './suites/agents.ts'
import { openPostgres } from './suites/postgres.ts'
import { type Scenario, shapeOf } from './workload.ts'

// The operations of this version beside those of another one, whose main file is given: both on a store of their own, in turn.
// Run it alone: npx bun bench/versions.ts MAIN [rounds] [seconds] [postgres]

const other = process.argv[2]
if (other === undefined) throw new Error('usage: npx bun bench/versions.ts MAIN [rounds] [seconds] [postgres]')
const [rounds, seconds] = [5, 2].map((usual, i) => Number(process.argv[3 + i] ?? usual)) as [number, number]
const isPostgres = process.argv[5] === 'postgres'
const shape = shapeOf(20_000)
const runs = 3_000
const task = '/v1/bench/_tasks/mail'

cleanUpAtExit()
const postgres = isPostgres ? await openPostgres() : undefined
if (typeof postgres === 'string') throw new Error(postgres)
if (postgres !== undefined) trackCloser(() => postgres.remove())

const open = async (name: string, program?: string): Promise<Record<string, Measure>> => {
  const data = ['--data', `${temporaryDirectory()}/${name}`]
  const location = postgres === undefined ? data : [...data, '--store', await postgres.createDatabase()]
  const apiKey = await createOrganization(location, program)
  const server = await serveCubby(location, { program })
  const call = (method: string, path: string, body?: object) => callCubby(server, apiKey, method, path, body)
  await fillTable(server, apiKey, shape)
  const helpers = () => (postgres === undefined ? [] : ownChildren('postgres').flatMap(processTree))
  const send = (parts: Part[], connections = 64): Measure =>
    measuringLoad({ server, parts, shape, seconds, connections, helpers })
  const dialect = new CubbyDialect(apiKey)
  const scenario = (name: Scenario): Measure => send(dialect.templates(name, shape)[0]!.parts)
  const records = { get: scenario('get'), put: scenario('put'), page: scenario('page') }
  if (postgres !== undefined) return records

  await call('POST', '/v1/bench/_buckets/files')
  await call('PUT', task, {})
  const headers = { Authorization: `Bearer ${apiKey}` }
  const client = new RawClient(server.port, apiKey)
  const claimed: { id: string; lease: string }[] = []
  const posting = async (
    count: number,
    path: (n: number) => string,
    body: (n: number) => object,
  ): Promise<string[]> => {
    let begun = 0
    const bodies: string[] = []
    const sender = async () => {
      while (begun < count) {
        const n = begun++
        bodies.push(await client.post(path(n), JSON.stringify(body(n))))
      }
    }
    await Promise.all(Array.from({ length: 32 }, sender))
    return bodies
  }
  const add = () => {
    const operations = Array.from({ length: 25 }, () => ({ op: 'run', payload: { to: 'ada@example.com' } }))
    return posting(
      runs / 25,
      () => `${task}/batch`,
      () => ({ operations }),
    )
  }
  const claim = async () => {
    const answers = await posting(
      runs,
      () => `${task}/claim`,
      () => ({ leaseSeconds: 600 }),
    )
    claimed.push(...answers.flatMap((text) => JSON.parse(text).runs))
    return runs
  }
  const finish = async () => {
    const held = claimed.splice(0)
    await posting(
      held.length,
      (n) => `${task}/runs/${held[n]!.id}/finish`,
      (n) => ({ lease: held[n]!.lease }),
    )
    return held.length
  }
  const pids = () => [server.pid]
  return {
    ...records,
    batch: scenario('batch'),
    upload: send(
      httpRequest({ method: 'PUT', path: ['/v1/bench/_buckets/files/', record()], headers, body: ['x'.repeat(4_096)] }),
      // An organization has 48 places for uploads.
      40,
    ),
    'tool call': send(getRecords(apiKey)),
    run: send(httpRequest({ method: 'POST', path: [`${task}/run`], headers, body: ['{"payload":{"to":"ada"}}'] })),
    claim: async () => {
      await add()
      const measured = await measuring(pids, claim)()
      await finish()
      return measured
    },
    finish: async () => {
      await add()
      await claim()
      return measuring(pids, finish)()
    },
  }
}

const [before, now] = [await open('other', other), await open('this')]
for (const [name, measure] of Object.entries(now)) {
  console.log(`\n${name}`)
  await alternate({ other: before[name]!, this: measure }, rounds)
}
await cleanUp()
process.exit(0)
