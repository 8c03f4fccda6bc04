import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CubbyError } from '../src/core/errors.ts'
import { Connection } from '../src/engines/sqlite/connection.ts'
import {
  freeShareMax,
  freeShareUnderLoadMax,
  pauseMs,
  readSpace,
  type Space,
  Vacuumer,
  type VacuumStep,
  vacuumStep,
} from '../src/engines/sqlite/maintenance/vacuumer.ts'
import { prepareStore } from '../src/engines/sqlite/migrations/prepare-store.ts'
import { WriteConnection } from '../src/engines/sqlite/write/write-connection.ts'
import { eventually, makeTempDir, removeTempDir } from './harness.ts'

// Giving pages back must not make a write wait, and must end when there is nothing to give back: otherwise an idle server
// would keep a processor and a disk busy.

describe('one step', () => {
  const rows = 6_000
  let dir: string
  let db: Connection

  const open = (isNew: boolean): void => {
    const path = join(dir, 'cubby.db')
    writeFileSync(path, '')
    db = new Connection(path, 16_384, isNew)
    db.run('CREATE TABLE filler (id INTEGER PRIMARY KEY, text TEXT)')
    db.run('BEGIN')
    const insert = db.prepare<unknown, [number, string]>('INSERT INTO filler VALUES (?1, ?2)')
    for (let id = 0; id < rows; id++) insert.run(id, 'x'.repeat(3_000))
    db.run(`DELETE FROM filler WHERE id < ${0.9 * rows}`)
    db.run('COMMIT')
  }
  const step = (options: VacuumStep, isAlone = true): Space | undefined => {
    db.run('BEGIN IMMEDIATE')
    const space = vacuumStep(db, options, isAlone)
    db.run('COMMIT')
    return space
  }

  beforeEach(() => {
    dir = makeTempDir()
  })
  afterEach(() => {
    db.close()
    removeTempDir(dir)
  })

  test('gives pages back until few are free, says how many are left, and keeps every row', () => {
    open(true)
    const before = readSpace(db)
    expect(before.freePages).toBeGreaterThan(0.8 * before.pages)
    const after = step({ freeShareMax: 0.1, msMax: 60_000 })!
    expect(after).toEqual(readSpace(db))
    expect(after.freePages).toBeLessThanOrEqual(0.1 * after.pages)
    expect(after.freePages).toBeGreaterThan(0)
    expect(step({ freeShareMax: 0, msMax: 60_000 })).toMatchObject({ freePages: 0 })
    const { n, first } = db
      .prepare<{ n: number; first: number }, []>(
        `SELECT count(*) AS n, min(id) AS first FROM filler WHERE text LIKE 'x%'`,
      )
      .get()!
    expect([n, first]).toEqual([0.1 * rows, 0.9 * rows])
    expect(db.prepare<{ integrity_check: string }, []>('PRAGMA integrity_check').all()).toEqual([
      { integrity_check: 'ok' },
    ])
  })

  test('ends when its time is over', () => {
    open(true)
    const before = readSpace(db)
    expect(step({ freeShareMax: 0, msMax: 0 })).toEqual(before)
    const after = step({ freeShareMax: 0, msMax: 1 })!
    expect(after.freePages).toBeLessThan(before.freePages)
    expect(after.freePages).toBeGreaterThan(0)
  })

  test('does nothing in a commit with other writes', () => {
    open(true)
    const before = readSpace(db)
    expect(step({ freeShareMax: 0, msMax: 60_000 }, false)).toEqual(before)
    expect(readSpace(db)).toEqual(before)
  })

  test('of a store without auto-vacuum is none', () => {
    open(false)
    const before = readSpace(db)
    expect(step({ freeShareMax: 0, msMax: 60_000 })).toBeUndefined()
    expect(readSpace(db)).toEqual(before)
  })

  test('the writer does one only if no other command shares the commit', async () => {
    const path = join(dir, 'cubby.db')
    await prepareStore(path, { isHolder: true })
    db = new Connection(path, 16_384)
    db.run('CREATE TABLE filler (text TEXT)')
    db.run(`INSERT INTO filler VALUES ('${'x'.repeat(400_000)}')`)
    db.run('DELETE FROM filler')
    const { freePages } = readSpace(db)
    expect(freePages).toBeGreaterThan(90)
    const writer = new WriteConnection(path)
    const vacuum = { kind: 'vacuum' as const, freeShareMax: 0, msMax: 60_000 }
    const other = { kind: 'purgeTables' as const, nowMs: 0, rowsMax: 1 }
    expect(writer.commit([vacuum, other])[0]).toMatchObject({ value: { freePages } })
    expect(readSpace(db).freePages).toBe(freePages)
    expect(writer.commit([vacuum])[0]).toMatchObject({ value: { freePages: 0 } })
    expect(readSpace(db).freePages).toBe(0)
    writer.db.close()
  })
})

describe('when steps are made', () => {
  const pages = 10_000
  let vacuumer: Vacuumer
  afterEach(() => vacuumer.end())

  /** A store with so many free pages, of which a step gives 1,000 back. */
  const watch = (
    freePages: number,
    { mayStep = () => true, result }: { mayStep?: () => boolean; result?: () => Space | undefined } = {},
  ) => {
    const seen = { steps: [] as VacuumStep[], freePages }
    vacuumer = new Vacuumer({
      mayStep,
      async step(step) {
        seen.steps.push(step)
        if (result !== undefined) return result()
        if (seen.freePages > step.freeShareMax * pages) seen.freePages = Math.max(0, seen.freePages - 1_000)
        return { pages, freePages: seen.freePages }
      },
    })
    return seen
  }
  const longerThanAnyPause = () => Bun.sleep(12 * pauseMs)

  test('after a commit, until few pages are free; then none until the next commit', async () => {
    const seen = watch(5_500)
    await longerThanAnyPause()
    expect(seen.steps).toEqual([])
    vacuumer.noteCommit()
    await eventually('all is given back', () => (seen.freePages === 0 ? true : undefined))
    await longerThanAnyPause()
    const { length } = seen.steps
    expect(seen.steps.every((step) => step.freeShareMax === freeShareMax)).toBe(true)
    await longerThanAnyPause()
    expect(seen.steps.length).toBe(length)
    vacuumer.noteCommit()
    await eventually('one more look', () => (seen.steps.length > length ? true : undefined))
  })

  test('none while a write is on its way', async () => {
    let mayStep = false
    const seen = watch(5_000, { mayStep: () => mayStep })
    vacuumer.noteCommit()
    await longerThanAnyPause()
    expect(seen.steps).toEqual([])
    mayStep = true
    await eventually('all is given back', () => (seen.freePages === 0 ? true : undefined))
  })

  test('between commits that follow each other, only for many free pages', async () => {
    const seen = watch(3_500)
    let done = false
    const committing = (async () => {
      for (; !done; await Bun.sleep(1)) vacuumer.noteCommit()
    })()
    await eventually('three looks', () => (seen.steps.length >= 3 ? true : undefined))
    done = true
    await committing
    expect(seen.steps.slice(0, 3).map((step) => step.freeShareMax)).toEqual(Array(3).fill(freeShareUnderLoadMax))
  })

  test('none for a while after one failed, and none in a damaged store or one without auto-vacuum', async () => {
    const fail = (error: Error) => () => {
      throw error
    }
    for (const result of [
      fail(new CubbyError('storage_full', 'The disk is full.')),
      fail(new CubbyError('store_damaged', 'A page is damaged.')),
      () => undefined,
    ]) {
      const seen = watch(5_000, { result })
      vacuumer.noteCommit()
      await eventually('the first look', () => (seen.steps.length > 0 ? true : undefined))
      vacuumer.noteCommit()
      await longerThanAnyPause()
      expect(seen.steps.length).toBe(1)
      vacuumer.end()
    }
  })
})
