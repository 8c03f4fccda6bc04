import { loadavg } from 'node:os'
import { cleanUp, cleanUpAtExit, temporaryDirectory } from './cleanup.ts'
import { requireNoErrors } from './load/load.ts'
import { runOwnLoad } from './load/own.ts'
import { httpRequest } from './load/template.ts'
import { median, medianRatio } from './stats.ts'
import { callCubby, createOrganization, serveCubby } from './subjects/cubby.ts'
import { cpuSeconds } from './subjects/process-usage.ts'

// Gets of one record with an API key, with a user token of three grants, and with one of nearly 4,096 characters, in turn.
// Run it alone: npx bun bench/users.ts [rounds] [seconds]

const [rounds, seconds] = [10, 2].map((usual, i) => Number(process.argv[2 + i] ?? usual)) as [number, number]
const connections = 64
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
const keys = { key: apiKey, token: await tokenOf(grantsOf(3, 8)), long: await tokenOf(grantsOf(25, 55)) }
type Name = keyof typeof keys
const names = Object.keys(keys) as Name[]
console.log(`the tokens have ${keys.token.length} and ${keys.long.length} characters`)

/** Gets per second, and the CPU that the server used for each, in microseconds. */
const measure = async (name: Name, forSeconds: number): Promise<{ rate: number; cpuUs: number }> => {
  const headers = { Authorization: `Bearer ${keys[name]}` }
  const parts = httpRequest({ method: 'GET', path: [`${path}/ada`], headers })
  const before = cpuSeconds([server.pid]) ?? 0
  const plan = { port: server.port, connections, seconds: forSeconds, templates: [{ times: 1, parts }] }
  const result = requireNoErrors(await runOwnLoad({ ...plan, shape: { records: 1, groups: 1 } }), name)
  const cpuUs = (((cpuSeconds([server.pid]) ?? 0) - before) / result.requests) * 1e6
  return { rate: result.requests / result.seconds, cpuUs }
}

const loadBefore = loadavg()[0]!
for (const name of names) await measure(name, seconds)
const of = <T>(value: () => T): Record<Name, T> => ({ key: value(), token: value(), long: value() })
const [rates, cpu] = [of((): number[] => []), of((): number[] => [])]
for (let round = 0; round < rounds; round++) {
  // Each has every place in the row.
  for (let place = 0; place < names.length; place++) {
    const name = names[(round + place) % names.length]!
    const { rate, cpuUs } = await measure(name, seconds)
    rates[name].push(rate)
    cpu[name].push(cpuUs)
  }
}
for (const name of names) {
  const ratio = (all: Record<Name, number[]>): string => {
    const sorted = all[name].map((value, i) => value / all.key[i]!).toSorted((a, b) => a - b)
    return `${medianRatio(all[name], all.key).toFixed(3)} (${sorted[0]!.toFixed(2)} to ${sorted.at(-1)!.toFixed(2)})`
  }
  console.log(
    `${name}: ${median(rates[name]).toFixed(0)} gets/s, ${median(cpu[name]).toFixed(1)} µs of CPU each; ` +
      `rate ${ratio(rates)}, CPU ${ratio(cpu)} of those with a key`,
  )
}
console.log(`${rounds} rounds of ${seconds} s, load before ${loadBefore.toFixed(1)}`)
await server.stop()
await cleanUp()
process.exit(0)
