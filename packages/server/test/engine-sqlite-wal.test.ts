import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import { makeFixture, putOf } from './conformance/fixture.ts'

// Neither what is handed to the writer while it commits nor a view that a read opened meanwhile may keep the log from
// starting over. Where it does not, this load leaves 600 MB.
test('the log is bounded while writers and readers never pause', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cubby-engine-'))
  const engine = await openSqliteEngine({ dataDir: dir })
  const draw = (below: number): number => Math.floor(Math.random() * below)
  const text = 'x'.repeat(250)
  try {
    const fixture = await makeFixture(engine, {
      i1: { hashField: 'a', rangeField: 'n' },
      i2: { hashField: 'b', rangeField: 'n' },
    })
    const work = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) {
        const base = draw(50_000)
        const keys = Array.from({ length: 25 }, (_, k) => `k${(base + k * 2_000) % 50_000}`)
        const data = () => ({ a: `a${draw(200)}`, b: `b${draw(200)}`, n: draw(1e9), text })
        await fixture.write(keys.map((key) => putOf(fixture.table, key, { data: data() })))
        expect(await fixture.get(keys[0]!)).toBeDefined()
      }
    }
    await Promise.all(Array.from({ length: 64 }, work))
    expect(statSync(join(dir, 'cubby.db-wal')).size).toBeLessThan(330e6)
  } finally {
    await engine.close()
    rmSync(dir, { recursive: true, force: true })
  }
}, 120_000)
