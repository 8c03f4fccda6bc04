import { arch, availableParallelism, loadavg } from 'node:os'
import { makeApiKey } from '../../packages/server/src/core/api-keys/api-key.ts'
import type { Statement, Value } from '../../packages/server/src/engines/postgres/connection/driver.ts'
import { detectDialect } from '../../packages/server/src/engines/postgres/dialect.ts'
import { openPostgresEngine } from '../../packages/server/src/engines/postgres/engine.ts'
import { indexColumns } from '../../packages/server/src/engines/postgres/records/statements.ts'
import { startPostgres } from '../../packages/server/test/postgres-server.ts'
import { openCandidates } from './candidates.ts'
import * as workload from './workload.ts'

// Compares drivers on the statements of the engine: bun bench/drivers/run.ts [seconds a run] [rounds]
// Client and server share this machine. The candidates take turns, so that a slow minute is every one's.

const seconds = Number(process.argv[2] ?? 3)
const rounds = Number(process.argv[3] ?? 3)
const callers = 64
const poolSize = 8

const cases: [string, Statement, () => Value[]][] = [
  ['get', workload.get, workload.getValues],
  ['put', workload.put, workload.putValues],
  ['page of 50', workload.page, workload.pageValues],
  ['batch of 25', workload.batch, workload.batchValues],
]

const server = await startPostgres({
  settings: { shared_buffers: '256MB', max_wal_size: '4GB', checkpoint_timeout: '1h' },
})
const url = await server.createDatabase('bench')
const engine = await openPostgresEngine({ url, poolSize })

const fill = async (): Promise<void> => {
  const org = await engine.organizations.create('bench', [makeApiKey({ kind: 'secret' }).kept], Date.now())
  const caller = { orgId: org!.id, apiKey: undefined }
  await engine.tables.create(caller, 'app', 'orders', {}, Date.now())
  const entry = (text: string) => `convert_to(${text}, 'UTF8')`
  await server.query(
    `insert into cubby_record_8 (id, table_id, hash_key, range_key, updated_at, data, i1_hash, i1_range, i2_hash, i2_range)
     select nextval('cubby_record_id'), 1, ${entry(`'k' || lpad(n::text, 8, '0')`)}, '#', 1,
       '{"status":"open","n":' || n || ',"pad":"' || repeat('x', 300) || '"}', ${entry(`'sopen' || n % 100`)},
       ${entry(`'n' || lpad(n::text, 16, '0')`)}, ${entry(`'su' || n % 1000`)}, ''
     from generate_series(0, ${workload.recordCount - 1}) n`,
    url,
  )
  await server.query('vacuum analyze', url)
}

/** Calls a second, by 64 callers that each wait for their answer; and how busy this process was. */
const measure = async (call: () => Promise<unknown>): Promise<{ rate: number; cpu: number }> => {
  await Promise.all(Array.from({ length: callers }, call))
  let count = 0
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const end = began + seconds * 1000
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < end) {
        await call()
        count++
      }
    }),
  )
  const elapsedMs = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBefore)
  return { rate: (count / elapsedMs) * 1000, cpu: (user + system) / 10 / elapsedMs }
}

const middle = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

const facts = { version: '', number: '', numeric: 180_000, encoding: 'UTF8', fsync: 'on', citus: undefined }
const dialect = detectDialect(facts, 60_000)

try {
  await fill()
  // The pool of Bun.sql takes no settings for its sessions.
  for (const setting of [...dialect.planning, 'set synchronous_commit = on']) {
    await server.query(`alter database bench ${setting}`)
  }
  const candidates = await openCandidates(url, poolSize, dialect)
  const table = (await engine.tables.find(1, 'app', 'orders'))!
  const caller = { orgId: 1, apiKey: undefined }
  const noEntries = indexColumns.map(() => null)
  const putOf = (values: Value[]) => ({
    op: 'put' as const,
    hashKey: String(values[1]),
    rangeKey: '#',
    data: String(values[3]),
    ttlSeconds: null,
    entries: [...values.slice(6, 10).map(String), ...noEntries.slice(4)],
    condition: undefined,
  })
  const rowsOf = (values: Value[]): Value[][] =>
    Array.from({ length: values.length / 16 }, (_, i) => values.slice(i * 16, i * 16 + 16))
  const throughEngine: Record<string, () => Promise<unknown>> = {
    get: async () => engine.records.get(table, { hashKey: String(workload.getValues()[1]), rangeKey: '#' }, Date.now()),
    put: () => engine.records.write(caller, table, [putOf(workload.putValues())], Date.now()),
    'page of 50': async () => {
      const values = workload.pageValues()
      const [low, high] = [values[7] as Buffer, values[8] as Buffer]
      const scan = { index: 'i1' as const, hash: String(values[10]), low, high, lowId: 0, highId: 0, descending: false }
      return engine.records.scan(table, scan, workload.pageRows, Date.now())
    },
    'batch of 25': () => engine.records.write(caller, table, rowsOf(workload.batchValues()).map(putOf), Date.now()),
  }
  console.log(
    `${availableParallelism()} cores (${arch()}), load ${loadavg()[0]!.toFixed(1)}, Bun ${Bun.version}, ${engine.description};`,
  )
  console.log(
    `${workload.recordCount} records, ${callers} callers, pool ${poolSize}, ${rounds} rounds of ${seconds} s.`,
  )
  console.log('Calls a second: middle of the rounds (least - most), and how much of a core this process took.\n')
  for (const [name, statement, values] of cases) {
    const runs = new Map<string, { rate: number; cpu: number }[]>()
    for (let round = 0; round < rounds; round++) {
      for (const candidate of candidates) {
        const result = await measure(() => candidate.run(statement, values()))
        runs.set(candidate.name, [...(runs.get(candidate.name) ?? []), result])
      }
      runs.set('the whole engine', [...(runs.get('the whole engine') ?? []), await measure(throughEngine[name]!)])
    }
    for (const [candidate, results] of runs) {
      const rates = results.map(({ rate }) => rate)
      const spread = `(${Math.round(Math.min(...rates))} - ${Math.round(Math.max(...rates))})`
      const cpu = `${Math.round(middle(results.map((result) => result.cpu)))} %`
      console.log(
        name.padEnd(12),
        candidate.padEnd(20),
        String(Math.round(middle(rates))).padStart(6),
        spread.padEnd(18),
        cpu,
      )
    }
  }
  await Promise.all(candidates.map((candidate) => candidate.close()))
} finally {
  await engine.close()
  await server.remove()
}
