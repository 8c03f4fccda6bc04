import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { loadCommitLinesMax } from '../../src/core/limits.ts'
import {
  eventually,
  type Json,
  makeTempDir,
  removeTempDir,
  runCubby,
  type Server,
  startServer,
  storeIsEmbedded,
} from '../harness.ts'
import { createKey, ok, refused, TestTable } from '../http/service.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { bodyKinds, countFirstLines, linesOf, makeLoadTable, SentLoad, storedUpTo } from './load-body.ts'

// Loads through several processes that serve one store: they may meet at the same records, and what ends one may happen elsewhere.

setDefaultTimeout(180_000)

interface Stage {
  servers: Server[]
  secretKey: string
  remove(): Promise<void>
}

const stages: Record<string, () => Promise<Stage>> = {
  'two processes on PostgreSQL': async () => {
    const postgres: PostgresServer = await startPostgres({ auth: 'password' })
    const url = await postgres.createDatabase()
    const files = makeTempDir()
    const servers = await Promise.all([0, 1].map(() => startServer({ args: ['--store', url], files })))
    const made = await runCubby(['orgs', 'create', 'shared', '--store', url, '--json'])
    return {
      servers,
      secretKey: JSON.parse(made.stdout).secretKey,
      async remove() {
        for (const server of servers) await server.stop()
        await postgres.remove()
        removeTempDir(files)
      },
    }
  },
}
if (process.platform === 'linux' && storeIsEmbedded()) {
  stages['serve --workers 2'] = async () => {
    const server = await startServer({ args: ['--workers', '2'] })
    return {
      servers: [server, server],
      secretKey: (await server.createOrganization()).secretKey,
      remove: async () => expect(await server.stop()).toBe(0),
    }
  }
}

describe.each(Object.keys(stages))('%s', (name) => {
  let stage: Stage
  const on = (table: TestTable, i: number): TestTable =>
    new TestTable(stage.servers[i]!.as(table.api.key), table.db, table.name)
  beforeAll(async () => {
    stage = await stages[name]!()
  })
  afterAll(async () => {
    await stage?.remove()
  })

  test('loads of the same lines through all of them, in any order of arrival, store each line', async () => {
    const table = await makeLoadTable(stage.servers[0]!, stage.secretKey)
    const lines = 10_000
    const text = linesOf(0, lines)
    const reversed = `${text.trimEnd().split('\n').toReversed().join('\n')}\n`
    // Four places in each process; which of two workers takes a connection is the system's choice.
    const sent = await Promise.all(
      [text, reversed, text, reversed].map(async (body, i) => {
        const load = await SentLoad.begin(stage.servers[i % 2]!, on(table, i % 2), bodyKinds[i % 3]!, body.length)
        load.send(body)
        load.end()
        return load
      }),
    )
    for (const load of sent) {
      expect(ok(await load.answer())).toEqual({ count: lines, skipped: 0, failed: 0, errors: [] })
      load.close()
    }
    for (const i of [0, 1]) expect(await countFirstLines(on(table, i))).toBe(lines)
  })

  /** Loads begin in all processes, with some lines stored. */
  const begun = async (table: TestTable): Promise<SentLoad[]> => {
    const loads: SentLoad[] = []
    for (const i of [0, 1, 0, 1]) {
      const load = await SentLoad.begin(stage.servers[i]!, on(table, i), 'chunked')
      load.send(linesOf(0, loadCommitLinesMax + 1))
      loads.push(load)
    }
    await eventually('lines are stored', async () => (await storedUpTo(table)) === loadCommitLinesMax || undefined)
    return loads
  }

  const expectEnded = async (loads: SentLoad[], status: number, code: string): Promise<void> => {
    for (const load of loads) load.send(linesOf(loadCommitLinesMax + 1, 4 * loadCommitLinesMax))
    for (const load of loads) {
      const { count } = refused(await load.answer(), status, code)
      // One that had not stored its first lines yet has none.
      expect([0, loadCommitLinesMax]).toContain(count)
      load.close()
    }
  }

  test('a key that is revoked through one ends its loads in all, and nothing is stored after that', async () => {
    const table = await makeLoadTable(stage.servers[0]!, stage.secretKey)
    const { id, key } = await createKey(table.api)
    const loads = await begun(new TestTable(stage.servers[0]!.as(key), table.db, table.name))
    ok(await on(table, 1).api.delete(`/api/keys/${id}`))
    await expectEnded(loads, 403, 'revoked_api_key')
    expect(await countFirstLines(table)).toBe(loadCommitLinesMax)
  })

  test('a table that is deleted through one ends its loads in all, also if it is restored later', async () => {
    const table = await makeLoadTable(stage.servers[0]!, stage.secretKey)
    const loads = await begun(table)
    ok(await on(table, 1).api.delete(table.path))
    await expectEnded(loads, 404, 'table_not_found')
    ok(await table.api.post(`${table.path}/restore`))
    expect(await countFirstLines(on(table, 1))).toBe(loadCommitLinesMax)
  })

  test('with ifAbsent each record is created by one of them', async () => {
    const table = await makeLoadTable(stage.servers[0]!, stage.secretKey)
    const body = linesOf(0, 6_000)
    const answers = await Promise.all(
      [0, 1].map(async (i): Promise<Json> => {
        const response = await fetch(`${stage.servers[i]!.url}${table.path}/load?ifAbsent=true`, {
          ...{ method: 'POST', body: Buffer.from(body) },
          headers: { Authorization: `Bearer ${stage.secretKey}` },
        })
        return response.json()
      }),
    )
    expect(answers.map(({ count, skipped }) => count + skipped)).toEqual([6_000, 6_000])
    expect(answers.reduce((sum, { count }) => sum + count, 0)).toBe(6_000)
    expect(await countFirstLines(table)).toBe(6_000)
  })
})
