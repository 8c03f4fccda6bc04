import { loadavg } from 'node:os'
import { cleanUp, cleanUpAtExit, temporaryDirectory } from './cleanup.ts'
import { requireNoErrors } from './load/load.ts'
import { runOwnLoad } from './load/own.ts'
import { httpRequest, record } from './load/template.ts'
import { median, medianRatio } from './stats.ts'
import { callCubby, createOrganization, serveCubby } from './subjects/cubby.ts'
import { cpuSeconds } from './subjects/process-usage.ts'

// Puts into a table that tasks follow, beside the same puts into one that nobody follows: in turn, each of another record. The tasks
// are paused, so every put adds runs and nobody takes them.
// Run it alone: npx bun bench/following.ts [rounds] [seconds] [tasks] [URL of a PostgreSQL database]

const [rounds, seconds, tasks] = [8, 2, 1].map((usual, i) => Number(process.argv[2 + i] ?? usual)) as [
  number,
  number,
  number,
]
const storeUrl = process.argv[5]
const connections = 64
/** So many that a put hardly ever meets a record. */
const shape = { records: 100_000_000, groups: 1 }

cleanUpAtExit()
const data = ['--data', `${temporaryDirectory()}/following`]
const location = storeUrl === undefined ? data : [...data, '--store', storeUrl]
const apiKey = await createOrganization(location)
const server = await serveCubby(location)
const names = ['plain', 'followed'] as const
type Name = (typeof names)[number]
for (const name of names) await callCubby(server, apiKey, 'POST', `/v1/bench/${name}`, {})
for (let n = 0; n < tasks; n++) {
  await callCubby(server, apiKey, 'PUT', `/v1/bench/_tasks/index-${n}`, { on: { table: 'followed' }, paused: true })
}

/** Puts per second, and the CPU that the server used for each, in microseconds. */
const measure = async (name: Name, forSeconds: number): Promise<{ rate: number; cpuUs: number }> => {
  const parts = httpRequest({
    method: 'PUT',
    path: [`/v1/bench/${name}`],
    headers: { Authorization: `Bearer ${apiKey}` },
    body: ['{"hashKey":"', record(), `","data":{"status":"open","text":"${'x'.repeat(300)}"}}`],
  })
  const before = cpuSeconds([server.pid]) ?? 0
  const plan = { port: server.port, connections, seconds: forSeconds, templates: [{ times: 1, parts }], shape }
  const result = requireNoErrors(await runOwnLoad(plan), name)
  const cpuUs = (((cpuSeconds([server.pid]) ?? 0) - before) / result.requests) * 1e6
  return { rate: result.requests / result.seconds, cpuUs }
}

const loadBefore = loadavg()[0]!
for (const name of names) await measure(name, seconds)
const rates: Record<Name, number[]> = { plain: [], followed: [] }
const cpu: Record<Name, number[]> = { plain: [], followed: [] }
for (let round = 0; round < rounds; round++) {
  // Each is first in every other round: neither has always the larger store.
  for (const name of round % 2 === 0 ? names : names.toReversed()) {
    const { rate, cpuUs } = await measure(name, seconds)
    rates[name].push(rate)
    cpu[name].push(cpuUs)
    console.log(`${name}: ${rate.toFixed(0)} puts/s, ${cpuUs.toFixed(0)} µs of CPU each`)
  }
}
const ratios = rates.followed.map((rate, i) => rate / rates.plain[i]!).toSorted((a, b) => a - b)
console.log(
  `${rounds} rounds of ${seconds} s, ${tasks} tasks: median ${median(rates.plain).toFixed(0)} puts/s without, ` +
    `${median(rates.followed).toFixed(0)} followed; ratio ${medianRatio(rates.followed, rates.plain).toFixed(2)} ` +
    `(${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}); load ${loadBefore.toFixed(1)}, CPU of the server ${median(cpu.plain).toFixed(0)} and ` +
    `${median(cpu.followed).toFixed(0)} µs a put`,
)
await server.stop()
await cleanUp()
process.exit(0)
