import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Due, type DueQueries, DueTurns, firstRowsMax } from '../../../src/core/tasks/due-turns.ts'

// The due work of several organizations, in memory. Each step does what was chosen.

class Agenda {
  readonly #due: Due[]
  readonly #idle: number[]
  readonly #turns = new DueTurns()
  /** Rows that all looks have returned. */
  rows = 0

  /** `due`: those that are due longest first. `idle`: organizations that have nothing due now. */
  constructor(due: Due[], idle: number[] = []) {
    this.#due = [...due]
    this.#idle = idle
  }

  get left(): number {
    return this.#due.length
  }

  async step(rowsMax: number, { bytesMax = Number.POSITIVE_INFINITY, organizationsMax = 500 } = {}): Promise<Due[]> {
    const counted = <T>(found: T[]): T[] => {
      this.rows += found.length
      return found
    }
    const queries: DueQueries<Due> = {
      organizationsMax,
      first: (most) => counted(this.#due.slice(0, most)),
      organizations: (afterId, most) => {
        const ids = new Set([...this.#due.map(({ orgId }) => orgId), ...this.#idle])
        const next = [...ids].filter((id) => id > afterId).sort((a, b) => a - b)
        return counted(next.slice(0, most).map((id) => ({ id, isDue: this.#due.some(({ orgId }) => orgId === id) })))
      },
      firstOf: (orgIds, most) =>
        counted(orgIds.flatMap((id) => this.#due.filter(({ orgId }) => orgId === id).slice(0, most))),
    }
    const { chosen, isMore } = await this.#turns.choose(queries, rowsMax, bytesMax)
    for (const one of chosen) this.#due.splice(this.#due.indexOf(one), 1)
    expect(isMore || this.#due.length === 0).toBe(true)
    return chosen
  }
}

const dueOf = (orgId: number, count: number, bytes = 1): Due[] =>
  Array.from({ length: count }, (_, i) => ({ id: `${orgId}/${i}`, orgId, bytes }))

/** Counts the steps until each of these organizations had a turn. */
const stepsUntil = async (orgIds: number[], step: () => Promise<Due[]>): Promise<number> => {
  const waiting = new Set(orgIds)
  for (let steps = 1; steps < 1_000; steps++) {
    for (const { orgId } of await step()) waiting.delete(orgId)
    if (waiting.size === 0) return steps
  }
  throw new Error(`${waiting.size} organizations never had a turn`)
}

const idsFrom = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i)

describe('behind more than a look reads by time', () => {
  test('the first of another organization is in the first step, and rows do not grow with the backlog', async () => {
    const rows: number[] = []
    for (const backlog of [firstRowsMax, 20 * firstRowsMax]) {
      const agenda = new Agenda([...dueOf(1, backlog), ...dueOf(7, 1)])
      expect(await stepsUntil([7], () => agenda.step(50))).toBe(1)
      rows.push(agenda.rows)
    }
    expect(rows[1]).toBe(rows[0]!)
  })

  test('more organizations than a step has rows all have a turn before one has its second', async () => {
    const others = idsFrom(2, 60)
    const agenda = new Agenda([...dueOf(1, 2_000), ...others.flatMap((id) => dueOf(id, 2))])
    expect(await stepsUntil(others, () => agenda.step(10))).toBeLessThanOrEqual(7)
  })

  test('a few of many organizations are asked each time: one that has something due is found in its turn', async () => {
    const agenda = new Agenda([...dueOf(1, 2_000), ...dueOf(500, 1)], idsFrom(2, 400))
    expect(await stepsUntil([500], () => agenda.step(10, { organizationsMax: 20 }))).toBeLessThanOrEqual(21)
    expect(agenda.rows).toBeLessThanOrEqual(21 * (firstRowsMax + 2 * 20 + 2 * 10))
  })

  test('a step that is cut by its bytes goes on with the organization that had no turn', async () => {
    const others = idsFrom(2, 30)
    const agenda = new Agenda([...dueOf(1, 2_000, 600), ...others.flatMap((id) => dueOf(id, 3, 600))])
    expect(await stepsUntil(others, () => agenda.step(50, { bytesMax: 1_000 }))).toBeLessThanOrEqual(31)
  })
})

test('whatever is due is chosen once, at most so many in a step, in turns within it', async () => {
  const organization = fc.record({ orgId: fc.integer({ min: 0, max: 30 }), count: fc.integer({ min: 1, max: 400 }) })
  const wanted = fc.record({
    organizations: fc.uniqueArray(organization, { maxLength: 5, selector: ({ orgId }) => orgId }),
    rowsMax: fc.integer({ min: 20, max: 60 }),
    organizationsMax: fc.integer({ min: 1, max: 10 }),
  })
  await fc.assert(
    fc.asyncProperty(wanted, async ({ organizations, rowsMax, organizationsMax }) => {
      const all = organizations.flatMap(({ orgId, count }) => dueOf(orgId, count))
      const agenda = new Agenda(all)
      const chosen: Due[] = []
      while (agenda.left > 0) {
        const some = await agenda.step(rowsMax, { organizationsMax })
        expect(some.length).toBeGreaterThan(0)
        expect(some.length).toBeLessThanOrEqual(rowsMax)
        chosen.push(...some)
      }
      expect(chosen.length).toBe(all.length)
      expect(new Set(chosen.map(({ id }) => id)).size).toBe(all.length)
    }),
    { numRuns: 20 },
  )
})
