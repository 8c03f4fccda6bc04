import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commitBytesMax } from '../src/core/limits.ts'
import type { Run } from '../src/core/tasks/run.ts'
import { openSqliteEngine } from '../src/engines/sqlite/engine.ts'
import type { Command } from '../src/engines/sqlite/write/command.ts'
import { WriteConnection } from '../src/engines/sqlite/write/write-connection.ts'
import { makeBench } from './conformance/runs.ts'

const payload = JSON.stringify({ text: 'x'.repeat(200_000) })
const claims = 12
const perClaim = 5

/** The writer of a store with long runs, and commands that claim them. */
const withLongRuns = async (use: (writer: WriteConnection, claim: Command) => void): Promise<void> => {
  const dir = mkdtempSync(join(tmpdir(), 'cubby-claims-'))
  try {
    const engine = await openSqliteEngine({ dataDir: dir })
    const bench = await makeBench(engine)
    const added = await Promise.all(Array.from({ length: claims * perClaim }, () => bench.add({ payload })))
    const { taskId } = added[0]!
    await engine.close()
    const writer = new WriteConnection(join(dir, 'cubby.db'))
    const fence = { epoch: 0, orgId: 1, keySeq: null, tableId: taskId }
    const options = { limit: perClaim, leaseMs: 60_000 }
    try {
      use(writer, { kind: 'claimRuns', fence, options, nowMs: Date.now() + 1_000 })
    } finally {
      writer.db.close()
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const runsOf = (outcome: unknown): Run[] => (outcome as { value: Run[] }).value

test('claims of long runs take at most half of what a commit may have; the next commit goes on', () =>
  withLongRuns((writer, claim) => {
    let waiting: Command[] = Array.from({ length: claims }, () => claim)
    const seen = new Set<string>()
    let commits = 0
    while (waiting.length > 0) {
      const outcomes = writer.commit(waiting)
      expect(outcomes.length).toBeGreaterThan(0)
      const runs = outcomes.flatMap(runsOf)
      expect(runs.reduce((sum, run) => sum + run.payload.length, 0)).toBeLessThanOrEqual(commitBytesMax / 2)
      for (const { id } of runs) seen.add(id)
      waiting = waiting.slice(outcomes.length)
      commits++
    }
    expect(seen.size).toBe(claims * perClaim)
    expect(commits).toBe(3)
  }))

test('what the claims of a commit left over is answered by the writer thread, in order', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cubby-claims-'))
  const engine = await openSqliteEngine({ dataDir: dir })
  try {
    const bench = await makeBench(engine)
    await Promise.all(Array.from({ length: claims * perClaim }, () => bench.add({ payload })))
    const answers = await Promise.all(Array.from({ length: claims }, () => bench.claim(perClaim)))
    expect(answers.map((runs) => runs.length)).toEqual(Array.from({ length: claims }, () => perClaim))
    expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(claims * perClaim)
    const finished = await Promise.all(answers.flat().map((run) => bench.finish(run)))
    expect(finished).toHaveLength(claims * perClaim)
  } finally {
    await engine.close()
    rmSync(dir, { recursive: true, force: true })
  }
})
