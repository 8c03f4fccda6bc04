import { readFileSync } from 'node:fs'
import { readIndexEntries } from '../packages/server/src/core/tables/indices.ts'
import { parseBatch, parseBatchInSlices } from '../packages/server/src/operations/records/apply-batch.ts'
import { parsePut } from '../packages/server/src/operations/records/put-record.ts'
import { dataText, drawValues, shapeOf } from './workload.ts'

// The cost of reading a body, compared with JSON.parse, which builds all of it. Run it alone: npx bun bench/bodies.ts

const indices = { i1: { hashField: 'status', rangeField: 'score' }, i2: { hashField: 'owner', rangeField: 'score' } }

/** Fields of several types, up to this many bytes. */
const fieldsOf = (bytes: number): string => {
  const data: Record<string, unknown> = { status: 'open', score: 17, owner: 'ada' }
  for (let i = 0, length = 0; length < bytes; i++) {
    data[`field${i}`] = i % 3 > 0 ? `a text of some length, number ${i}` : { x: i, y: [1, 2, i * 1.5], done: true }
    length += JSON.stringify(data[`field${i}`]).length + 12
  }
  return JSON.stringify(data)
}

const costly = `{"list":[${Array(40_940).fill('{"999":1}').join()}]}`
const put = (data: string): string => `{"hashKey":"record-00000001","data":${data}}`
const batch = (data: string): string =>
  `{"operations":[${Array.from({ length: 25 }, (_, i) => `{"op":"put","hashKey":"${i}","data":${data}}`).join()}]}`

/** Decoded from bytes, as in a request. */
const decoded = (text: string): string => new TextDecoder().decode(Buffer.from(text))

const nowMs = Date.now()
const readPut = (text: string) => readIndexEntries(indices, parsePut(text, nowMs))
const readBatch = (text: string) => parseBatch(text, nowMs)

const bodies: [what: string, text: string, read: (text: string) => unknown][] = [
  ['put of the benchmark', put(dataText(drawValues(shapeOf(10_000)))), readPut],
  ['put of 200 bytes', put(fieldsOf(100)), readPut],
  ['put of 1 kB', put(fieldsOf(900)), readPut],
  ['put of 1 kB, one string', put(`{"text":"${'x'.repeat(950)}"}`), readPut],
  ['put of 4 kB', put(fieldsOf(4_000)), readPut],
  ['put of 64 kB', put(fieldsOf(64_000)), readPut],
  ['put of 400 kB', put(fieldsOf(395_000)), readPut],
  ['put of 400 kB of {"999":1}', put(costly), readPut],
  ['batch of 25 x 1 kB', batch(fieldsOf(900)), readBatch],
  ['batch of 25 x 400 kB', batch(fieldsOf(395_000)), readBatch],
  ['batch of 25 x 400 kB of {"999":1}', batch(costly), readBatch],
]

/** The best of many short runs, in microseconds: the run that was disturbed least by other processes. */
const microseconds = (work: () => unknown): number => {
  let best = Number.POSITIVE_INFINITY
  const untilMs = performance.now() + 500
  do {
    const startedAtMs = performance.now()
    let count = 0
    do {
      work()
      count++
    } while (performance.now() - startedAtMs < 2)
    best = Math.min(best, ((performance.now() - startedAtMs) * 1_000) / count)
  } while (performance.now() < untilMs)
  return best
}

const longestStepMs = (text: string): number => {
  const slices = parseBatchInSlices(text, nowMs)
  let longest = 0
  for (;;) {
    const startedAtMs = performance.now()
    const { done } = slices.next()
    longest = Math.max(longest, performance.now() - startedAtMs)
    if (done === true) return longest
  }
}

const anonymousMb = (): number => Number(/RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) / 1024

console.log(
  'body'.padEnd(36),
  'read'.padStart(12),
  'JSON.parse'.padStart(12),
  'memory'.padStart(10),
  'longest step'.padStart(14),
)
for (const [what, source, read] of bodies) {
  const text = decoded(source)
  const before = anonymousMb()
  const ours = microseconds(() => read(text))
  const memory = Math.max(0, anonymousMb() - before)
  // JSON.parse would need gigabytes for the expensive batch.
  const parse = what === 'batch of 25 x 400 kB of {"999":1}' ? Number.NaN : microseconds(() => JSON.parse(text))
  const step =
    read === parseBatch ? `${Math.min(...Array.from({ length: 5 }, () => longestStepMs(text))).toFixed(1)} ms` : ''
  console.log(
    what.padEnd(36),
    `${ours.toFixed(1)} µs`.padStart(12),
    `${parse.toFixed(1)} µs`.padStart(12),
    `${memory.toFixed(0)} MB`.padStart(10),
    step.padStart(14),
  )
}
