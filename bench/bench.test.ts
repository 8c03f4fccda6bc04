import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanUp } from './cleanup.ts'
import { Histogram } from './load/histogram.ts'
import { requireNoErrors } from './load/load.ts'
import { runOwnLoad } from './load/own.ts'
import { httpRequest, record } from './load/template.ts'
import { writePage } from './report/page.ts'
import type { Results } from './results.ts'

// The benchmark runs rarely, so these tests keep it working. They do not check any speed.

const dir = mkdtempSync(join(tmpdir(), 'cubby-bench-test-'))

afterAll(async () => {
  await cleanUp()
  rmSync(dir, { recursive: true, force: true })
})

test('a short run gives figures of Cubby and both floors without an error, and leaves nothing behind', async () => {
  const stores = mkdtempSync(join(dir, 'stores-'))
  const json = join(dir, 'results.json')
  const child = Bun.spawn(
    [
      ...[process.execPath, join(import.meta.dir, 'run.ts'), '--suites', 'scenarios', '--only', 'get', '--load', 'own'],
      ...['--records', '1000', '--rounds', '2', '--seconds', '0.2', '--warm-seconds', '0.1', '--connections', '8'],
      ...['--dir', stores, '--json', json],
    ],
    { stdout: 'pipe', stderr: 'pipe' },
  )
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('get by key / floor GET')
  expect(stdout).not.toContain('written:')
  expect(readdirSync(stores)).toEqual([])

  const results = JSON.parse(readFileSync(json, 'utf8')) as Results
  const { series, bytesPerRecord } = results.scenarios!
  expect(series.map(({ subject }) => subject)).toEqual(['cubby', 'http floor', 'bare bun:sqlite'])
  expect(bytesPerRecord.cubby).toBeGreaterThan(300)
  for (const { rounds } of series) {
    expect(rounds).toHaveLength(2)
    for (const round of rounds) {
      expect(round.requestsPerSecond).toBeGreaterThan(0)
      expect(round.p99Ms).toBeGreaterThanOrEqual(round.p50Ms)
      expect(round.errors).toBe(0)
    }
  }

  const docs = join(dir, 'docs')
  for (const file of writePage(results, docs)) expect(existsSync(join(docs, file.replace('docs/', '')))).toBe(true)
  expect(readFileSync(join(docs, 'benchmarks.md'), 'utf8')).toContain('| get by key / floor GET | at least 0.75 |')
})

test('an answer that is no success fails the run', async () => {
  let answers = 0
  const server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0 },
    fetch: () => new Response('busy', { status: ++answers % 10 === 0 ? 503 : 200 }),
  })
  try {
    const parts = httpRequest({ method: 'GET', path: ['/', record()], headers: {} })
    const result = await runOwnLoad({
      ...{ port: server.port!, connections: 2, requests: 100 },
      ...{ templates: [{ times: 1, parts }], shape: { records: 1_000, groups: 2 } },
    })
    expect(result.requests).toBe(100)
    expect(result.errors.status).toBe(10)
    expect(() => requireNoErrors(result, 'the test')).toThrow('503 busy')
  } finally {
    await server.stop(true)
  }
})

test('latency: a stall counts for the requests that it kept from being sent', () => {
  const latency = new Histogram()
  for (let i = 0; i < 99; i++) latency.record(100)
  latency.record(1_000)
  latency.correct(100)
  // The stall of 1,000 µs hid requests that would have waited for 900, 800, … 200 µs.
  expect(latency.count).toBe(108)
  expect(latency.percentileUs(50)).toBe(100)
  expect(latency.percentileUs(99)).toBe(900)
})
