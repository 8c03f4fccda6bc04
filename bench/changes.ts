import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { cleanUp, runChild, temporaryDirectory } from './cleanup.ts'
import { callCubby, serveCubby } from './subjects/cubby.ts'
import { cpuSeconds } from './subjects/process-usage.ts'
import type { ServerProcess } from './subjects/server-process.ts'

// Streams of changes: how long a change takes from the answer of its put to each of the readers, and the memory that they take.
// Run it alone: npx bun bench/changes.ts [seconds]

const orgCount = 10
const keysPerOrg = 10
const streamsPerKey = 10
const putsPerSecond = 100
const seconds = Number(process.argv[2] ?? 20)
const main = fileURLToPath(new URL('../packages/server/src/main.ts', import.meta.url))
const path = '/v1/bench/orders'

interface Tenant {
  keys: string[]
  nextPut: number
}

/** The time of each answer, and what of it has come to readers. */
const answeredAtMs = new Map<number, number>()
const latenciesMs: number[] = []
/** Events that came before the answer of their put. */
let earlyCount = 0
/** Events whose put is not answered yet, by its number. */
const early = new Map<number, number>()
let eventCount = 0

const noteEvent = (put: number, atMs: number): void => {
  eventCount++
  const answered = answeredAtMs.get(put)
  if (answered === undefined) early.set(put, (early.get(put) ?? 0) + 1)
  else latenciesMs.push(Math.max(0, atMs - answered))
}

const noteAnswer = (put: number): void => {
  answeredAtMs.set(put, performance.now())
  const count = early.get(put) ?? 0
  earlyCount += count
  for (let n = 0; n < count; n++) latenciesMs.push(0)
  early.delete(put)
}

const headOf = (port: number, method: string, target: string, key: string, body: string, more = ''): string =>
  `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const number = /"n":(\d+),/g

/** Opens a stream; resolves when it is ready. */
const openStream = (port: number, key: string): Promise<Bun.Socket> => {
  const { promise, resolve, reject } = Promise.withResolvers<Bun.Socket>()
  let isReady = false
  // A number may be cut by the end of a piece.
  let rest = ''
  Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (socket) => {
        socket.write(headOf(port, 'POST', `${path}/changes`, key, '{"from":"now"}', 'Accept: text/event-stream\r\n'))
      },
      data(socket, bytes) {
        const atMs = performance.now()
        const text = rest + bytes.toString('latin1')
        let end = 0
        for (const found of text.matchAll(number)) {
          noteEvent(Number(found[1]), atMs)
          end = found.index + found[0].length
        }
        rest = text.slice(Math.max(end, text.length - 16))
        if (isReady || !text.includes('event: ready')) return
        isReady = true
        resolve(socket)
      },
      close: () => reject(new Error('a stream has ended')),
      error: (_socket, error) => reject(error),
    },
  })
  return promise
}

/** The anonymous memory of the process. */
const memoryBytes = ({ pid }: ServerProcess): number =>
  Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

const mib = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`

const makeTenant = async (server: ServerProcess, location: string[], name: string): Promise<Tenant> => {
  const { stdout } = await runChild([process.execPath, main, 'orgs', 'create', name, ...location, '--json'])
  const { secretKey } = JSON.parse(stdout) as { secretKey: string }
  await callCubby(server, secretKey, 'POST', path, { changes: {} })
  const keys = [secretKey]
  while (keys.length < keysPerOrg) {
    keys.push((await callCubby(server, secretKey, 'POST', '/api/keys', { kind: 'secret' })).key)
  }
  return { keys, nextPut: 0 }
}

let puts = 0
const put = async (server: ServerProcess, { keys }: Tenant): Promise<void> => {
  const n = ++puts
  await callCubby(server, keys[0]!, 'PUT', path, {
    hashKey: `record ${n % 1_000}`,
    data: { n, text: 'x'.repeat(300), status: 'open' },
  })
  noteAnswer(n)
}

const putFor = async (server: ServerProcess, tenants: Tenant[], forSeconds: number): Promise<void> => {
  const startedAtMs = performance.now()
  const pending = new Set<Promise<void>>()
  for (let n = 0; n < forSeconds * putsPerSecond; n++) {
    const waitMs = startedAtMs + (n * 1_000) / putsPerSecond - performance.now()
    if (waitMs > 0) await Bun.sleep(waitMs)
    const one: Promise<void> = put(server, tenants[n % tenants.length]!).finally(() => pending.delete(one))
    pending.add(one)
  }
  await Promise.all(pending)
}

const percentile = (sorted: number[], share: number): string =>
  `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1)} ms`

const location = ['--data', `${temporaryDirectory()}/changes`]
const first = Bun.spawnSync([process.execPath, main, 'orgs', 'create', 'first', ...location])
if (first.exitCode !== 0) throw new Error(first.stderr.toString())
const server = await serveCubby(location)
const tenants: Tenant[] = []
for (let n = 0; n < orgCount; n++) tenants.push(await makeTenant(server, location, `bench-${n}`))
let peakBytes = 0
const looking = setInterval(() => {
  peakBytes = Math.max(peakBytes, memoryBytes(server))
}, 100)
// What the puts need by themselves is not counted.
await putFor(server, tenants, seconds)
const beforeBytes = peakBytes
await Bun.sleep(1_000)
const streams: Bun.Socket[] = []
for (const { keys } of tenants) {
  for (const key of keys) {
    streams.push(...(await Promise.all(Array.from({ length: streamsPerKey }, () => openStream(server.port, key)))))
  }
}
console.log(
  `${streams.length} streams are open: memory at most ${mib(beforeBytes)} before, now ${mib(memoryBytes(server))}`,
)
const expected = seconds * putsPerSecond * keysPerOrg * streamsPerKey
const [startedAtMs, serverCpu, ownCpu] = [performance.now(), cpuSeconds([server.pid]), cpuSeconds([process.pid])]
await putFor(server, tenants, seconds)
for (const endMs = performance.now() + 10_000; eventCount < expected && performance.now() < endMs; ) await Bun.sleep(20)
clearInterval(looking)
const tookSeconds = (performance.now() - startedAtMs) / 1_000
/** Of one core. */
const usedSince = (pid: number, before = 0): string =>
  `${Math.round((((cpuSeconds([pid]) ?? 0) - before) / tookSeconds) * 100)} %`
const cpu = `CPU of the server ${usedSince(server.pid, serverCpu)}, of the readers ${usedSince(process.pid, ownCpu)}`
const sorted = latenciesMs.sort((a, b) => a - b)
console.log(
  `${seconds * putsPerSecond} puts in ${seconds} s: ${eventCount} events of ${expected}, from the answer to the event ` +
    `p50 ${percentile(sorted, 0.5)}, p99 ${percentile(sorted, 0.99)}, longest ${percentile(sorted, 1)}, ${earlyCount} before the answer`,
)
console.log(`memory at most ${mib(peakBytes)}, ${mib(peakBytes - beforeBytes)} more than without streams`)
console.log(cpu)
for (const socket of streams) socket.terminate()
await server.stop()
await cleanUp()
process.exit(0)
