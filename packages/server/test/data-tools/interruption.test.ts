import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  eventually,
  makeTempDir,
  type Organization,
  removeTempDir,
  type Server,
  startServer,
  storeArguments,
  storeIsEmbedded,
} from '../harness.ts'
import {
  asClient,
  asOperator,
  expectDone,
  linesOf,
  type RunningCommand,
  runCommand,
  startCommand,
  withoutTimes,
} from './commands.ts'
import { errorAnswer, startMiddleman } from './middleman.ts'

// A long import is interrupted sooner or later: a laptop closes, a machine restarts. Without these tests going on could
// leave a gap that nobody sees, or raise versions that an export had kept.

setDefaultTimeout(120_000)

let dir: string
beforeAll(() => {
  dir = makeTempDir()
})
afterAll(() => removeTempDir(dir))

const makeFile = (name: string, count: number): string => {
  const file = join(dir, name)
  const lines = Array.from(
    { length: count },
    (_, i) =>
      `{"db":"app","table":"orders","hashKey":"k${i}","data":{"status":"s${i % 5}","n":${i}.0},"updatedAt":${1_700_000_000_000 + i}}`,
  )
  const head = '{"db":"app","table":"orders","indices":{"i1":{"hashField":"status"}}}'
  writeFileSync(file, `${[head, ...lines].join('\n')}\n`)
  return file
}

describe.skipIf(!storeIsEmbedded())('killed while it writes straight into a store', () => {
  const org = { name: 'acme' }

  /** Lets it write a part, holds it there until its progress is on disk, and kills it. */
  const killInside = async (data: string, file: string): Promise<void> => {
    const running = startCommand(['import', file, ...asOperator(data, org)])
    const db = new Database(join(data, 'cubby.db'), { readwrite: true })
    try {
      const count = db.prepare<{ n: number }, []>('SELECT count(*) AS n FROM records')
      await eventually('some records are in', () => (count.get()!.n > 3_000 ? true : undefined), { pauseMs: 2 })
      db.run('PRAGMA busy_timeout = 4000')
      db.run('BEGIN IMMEDIATE')
      // Kept every second, and the first time perhaps before any batch was answered.
      const keptLine = (): number =>
        existsSync(`${file}.import-state`) ? JSON.parse(readFileSync(`${file}.import-state`, 'utf8')).line : 0
      await eventually('its progress is kept', () => keptLine() > 1 || undefined)
      running.kill('SIGKILL')
      await running.result
      db.run('ROLLBACK')
    } finally {
      db.close()
    }
  }

  test('and gone on with, it ends equal to one that was never interrupted, versions too', async () => {
    const data = join(dir, 'killed')
    await expectDone(['orgs', 'create', 'acme', ...storeArguments(data)])
    const file = makeFile('killed.ndjson', 30_000)
    await killInside(data, file)
    const { line } = JSON.parse(readFileSync(`${file}.import-state`, 'utf8'))
    expect(line).toBeGreaterThan(1)
    expect(line).toBeLessThan(30_001)
    expect((await runCommand(['verify', '--data', data])).exitCode).toBe(0)

    const done = JSON.parse(await expectDone(['import', file, '--resume', '--json', ...asOperator(data, org)]))
    expect(done).toMatchObject({ complete: true, lines: 30_001, records: 30_000, refused: 0 })
    expect(await expectDone(['export', '--db', 'app', ...asOperator(data, org)])).toBe(readFileSync(file, 'utf8'))
    expect(existsSync(`${file}.import-state`)).toBe(false)
  })

  test('without --resume it begins anew, and ends equal too', async () => {
    const data = join(dir, 'anew')
    await expectDone(['orgs', 'create', 'acme', ...storeArguments(data)])
    const file = makeFile('anew.ndjson', 30_000)
    await killInside(data, file)
    const done = JSON.parse(await expectDone(['import', file, '--json', ...asOperator(data, org)]))
    expect(done.lines).toBe(30_001)
    expect(done.unchanged).toBeGreaterThan(3_000)
    expect(await expectDone(['export', '--db', 'app', ...asOperator(data, org)])).toBe(readFileSync(file, 'utf8'))
    expect(existsSync(`${file}.import-state`)).toBe(false)
  })
})

describe('stopped while it writes through a server', () => {
  let server: Server
  let org: Organization
  beforeAll(async () => {
    server = await startServer()
    org = await server.createOrganization('acme')
  })
  afterAll(async () => {
    await server?.stop()
  })

  const expectWhole = async (file: string): Promise<void> => {
    const came = await expectDone(['export', '--db', 'app', ...asOperator(server.dataDir, org)])
    expect(linesOf(withoutTimes(came)).sort()).toEqual(linesOf(withoutTimes(readFileSync(file, 'utf8'))).sort())
    await server.as(org.secretKey).delete('/v1/app/orders')
  }

  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    test(`by ${signal} it finishes what is under way, says how to go on, and goes on`, async () => {
      const file = makeFile(`${signal}.ndjson`, 10_000)
      let running: RunningCommand | undefined
      const middleman = startMiddleman(server.url, ({ number }) => {
        if (number === 4) running!.kill(signal)
        return undefined
      })
      try {
        const env = { ...asClient(server, org), CUBBY_URL: middleman.url }
        running = startCommand(['import', file], { env })
        const { exitCode, stdout, stderr } = await running.result
        expect(exitCode).toBe(code)
        const [, line] = /^stopped after line (\d+) of .*; continue with --resume\n$/.exec(stderr) ?? []
        expect(stdout).toMatch(new RegExp(`^imported ${(Number(line) - 1).toLocaleString('en-US')} records? in`))
        await expectDone(['import', file, '--resume'], { env })
        // Not one record was put twice.
        expect(middleman.batches.flatMap(({ operations }) => operations)).toHaveLength(10_000)
        await expectWhole(file)
      } finally {
        await middleman.stop()
      }
    })
  }

  test('by SIGKILL it goes on from its last progress on disk', async () => {
    const file = makeFile('sigkill.ndjson', 10_000)
    let running: RunningCommand | undefined
    const middleman = startMiddleman(server.url, async ({ number }) => {
      if (number !== 4) return undefined
      await eventually('its progress is kept', () => existsSync(`${file}.import-state`) || undefined)
      running!.kill('SIGKILL')
      return errorAnswer(503, 'unavailable', 'Nobody hears this.')
    })
    try {
      const env = { ...asClient(server, org), CUBBY_URL: middleman.url }
      running = startCommand(['import', file], { env })
      await running.result
      const { line } = JSON.parse(readFileSync(`${file}.import-state`, 'utf8'))
      // The load that was held, the 4th to arrive, is not settled, whatever came behind it.
      expect(line).toBeGreaterThan(1)
      expect(line).toBeLessThan(10_001)
      const done = JSON.parse(
        await expectDone(['import', file, '--resume', '--json'], { env: asClientOf(middleman.url) }),
      )
      expect(done).toMatchObject({ complete: true, lines: 10_001 })
      await expectWhole(file)
    } finally {
      await middleman.stop()
    }
  })

  test('from standard input it names the line, and --from-line goes on there', async () => {
    const file = makeFile('stdin.ndjson', 10_000)
    const stdin = readFileSync(file, 'utf8')
    let running: RunningCommand | undefined
    const middleman = startMiddleman(server.url, ({ number }) => {
      if (number === 4) running!.kill('SIGTERM')
      return undefined
    })
    try {
      const env = asClientOf(middleman.url)
      running = startCommand(['import', '-'], { env, stdin })
      const [, line] = /stopped after line \d+ of -; continue with --from-line (\d+)\n$/.exec(
        (await running.result).stderr,
      )!
      await expectDone(['import', '-', '--from-line', line!], { env, stdin })
      expect(middleman.batches.flatMap(({ operations }) => operations)).toHaveLength(10_000)
      await expectWhole(file)
    } finally {
      await middleman.stop()
    }
  })

  test('--resume is refused for a file that has changed, and for another place', async () => {
    const file = makeFile('changed.ndjson', 10_000)
    let running: RunningCommand | undefined
    const middleman = startMiddleman(server.url, ({ number }) => {
      if (number === 4) running!.kill('SIGTERM')
      return undefined
    })
    try {
      const env = asClientOf(middleman.url)
      running = startCommand(['import', file], { env })
      expect((await running.result).exitCode).toBe(143)
      const elsewhere = await runCommand(['import', file, '--resume', '--db', 'other'], { env })
      expect(elsewhere.exitCode).toBe(1)
      expect(elsewhere.stderr).toContain('the earlier import went into')
      expect(elsewhere.stderr).not.toContain(org.secretKey)
      appendFileSync(file, '\n')
      const changed = await runCommand(['import', file, '--resume'], { env })
      expect(changed.exitCode).toBe(1)
      expect(changed.stderr).toContain('the file has changed')
      expect(readFileSync(`${file}.import-state`, 'utf8')).not.toContain(org.secretKey)
    } finally {
      await middleman.stop()
      await server.as(org.secretKey).delete('/v1/app/orders')
    }
  })

  const asClientOf = (url: string) => ({ ...asClient(server, org), CUBBY_URL: url })
})
