import { expect } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { type Organization, type Server, type StartOptions, startServer } from '../harness.ts'
import { inParallel, makeTable, ok, type TestTable } from '../http/service.ts'
import type { Attack, AttackReport } from './attackers.ts'
import { Reporter } from './reports.ts'
import type { Latencies, VictimOrder, VictimReport } from './victim.ts'

// The setup of all tests here: one server, attackers and victim as separate processes, and the server's memory, read from
// outside. With `CUBBY_TEST_HOSTILE=full` everything runs at full size, and the median of three rounds must be within the time
// limits. The short form runs less. It is strict only where noise has no influence (the server is alive, memory, nobody is
// rejected); times must be within ten times the limits.

const isFull = process.env.CUBBY_TEST_HOSTILE === 'full'
const rounds = isFull ? 3 : 1
/** The first for the full form, the second for the short one. */
export const inFull = <T>(full: T, short: T): T => (isFull ? full : short)

export const mib = 1_048_576

/** Memory is read from /proc. */
export const canReadMemory = existsSync('/proc/self/status')

/** Anonymous resident memory: that of the process itself, without mapped files. */
export const memoryBytes = (pid: number): number => {
  // Undefined without /proc, and for a process that has died; the next request to the server notices that.
  if (!existsSync(`/proc/${pid}/status`)) return 0
  return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
}

export interface Memory {
  beforeBytes: number
  peakBytes: number
}

/** Reads the memory of the process again and again while `work` runs. */
export const watchMemory = async <T>(pid: number, work: () => Promise<T>): Promise<{ value: T; memory: Memory }> => {
  const memory = { beforeBytes: memoryBytes(pid), peakBytes: 0 }
  const look = (): void => {
    memory.peakBytes = Math.max(memory.peakBytes, memoryBytes(pid))
  }
  const timer = setInterval(look, 20)
  try {
    const value = await work()
    look()
    return { value, memory }
  } finally {
    clearInterval(timer)
  }
}

/** An organization with a table. */
export interface Party {
  organization: Organization
  table: TestTable
}

export interface Seen {
  /** One victim is of another organization; the other has the secret key of the attacker's own. */
  victims: { stranger: VictimReport; neighbour: VictimReport }
  attack: AttackReport
  memory: Memory
}

export class Stage {
  readonly server: Server
  readonly attacker: Party
  readonly stranger: Party
  /** Measured before the first attack and used for all later ones, so memory that an attack leaves counts too. */
  #calmBytes: number | undefined

  private constructor(server: Server, attacker: Party, stranger: Party) {
    this.server = server
    this.attacker = attacker
    this.stranger = stranger
  }

  static async open(options: StartOptions = {}): Promise<Stage> {
    const server = await startServer(options)
    try {
      return new Stage(server, await newParty(server), await newParty(server))
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  /** Ends the server; fails if it has ended by itself or does not end in order. */
  async close(): Promise<void> {
    expect(await this.server.stop()).toBe(0)
  }

  /** Two victims go on with their work while the attack runs for so long; afterwards the server must be well. */
  async play(attack: Attack, options: { forMs: number; victim?: Partial<VictimOrder> }): Promise<Seen> {
    const ending: { end(): Promise<void> }[] = []
    const begin = async <T extends { end(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
      const started = await starting
      ending.push(started)
      return started
    }
    const victimOf = ({ organization, table }: Party): Promise<Reporter<VictimReport>> =>
      begin(startVictim(this.server, { key: organization.secretKey, path: table.path, ...options.victim }))
    try {
      const [stranger, neighbour] = [await victimOf(this.stranger), await victimOf(this.attacker)]
      const reports = async () => ({ stranger: await stranger.report(), neighbour: await neighbour.report() })
      const { value, memory } = await watchMemory(this.server.pid, async () => {
        await reports()
        this.#calmBytes ??= memoryBytes(this.server.pid)
        const attackers = await begin(startAttack(this.server, attack))
        const first = await reports()
        await Bun.sleep(options.forMs)
        const last = await reports()
        const victims = {
          stranger: afterBeginning(first.stranger, last.stranger),
          neighbour: afterBeginning(first.neighbour, last.neighbour),
        }
        return { victims, attack: await someAnswers(attack, attackers) }
      })
      const seen = { ...value, memory: { ...memory, beforeBytes: this.#calmBytes! } }
      note(attack.kind, seen)
      await this.expectWell()
      return seen
    } finally {
      await Promise.all(ending.map((each) => each.end()))
    }
  }

  async expectWell(): Promise<void> {
    ok(await this.server.request('GET', '/readyz'))
  }
}

/** Percentiles of the attack itself; what went wrong while it began counts too. */
const afterBeginning = (beginning: VictimReport, report: VictimReport): VictimReport => {
  const later = (activity: 'gets' | 'puts' | 'visits'): Latencies => ({
    ...report[activity],
    maxMs: Math.max(beginning[activity].maxMs, report[activity].maxMs),
  })
  const refusals = { ...beginning.refusals }
  for (const [what, times] of Object.entries(report.refusals)) refusals[what] = (refusals[what] ?? 0) + times
  return { gets: later('gets'), puts: later('puts'), visits: later('visits'), refusals }
}

/** A slow machine may not have answered any of a large kind yet: what is looked for is that it does. */
const someAnswers = async (attack: Attack, attackers: Reporter<AttackReport>): Promise<AttackReport> => {
  const deadlineMs = performance.now() + 15_000
  for (;;) {
    const report = await attackers.report()
    const due = attack.kind === 'loop' && attack.groups.length > 0 && Object.keys(report.answers).length === 0
    if (!due || performance.now() > deadlineMs) return report
    await Bun.sleep(100)
  }
}

export const newParty = async (server: Server): Promise<Party> => {
  const organization = await server.createOrganization()
  return { organization, table: await makeTable(server.as(organization.secretKey)) }
}

export const startVictim = (
  server: Server,
  order: Pick<VictimOrder, 'key' | 'path'> & Partial<VictimOrder>,
): Promise<Reporter<VictimReport>> =>
  Reporter.start<VictimOrder, VictimReport>(new URL('victim.ts', import.meta.url), {
    port: server.port,
    putBytes: 200,
    pauseMs: 10,
    ...order,
  })

export const startAttack = (server: Server, attack: Attack): Promise<Reporter<AttackReport>> =>
  Reporter.start(new URL('attackers.ts', import.meta.url), { port: server.port, attack })

/** Prints figures for people who read the output. */
export const note = (what: string, seen: { victims: object; attack: AttackReport; memory: Memory }): void => {
  if ((process.env.CUBBY_TEST_HOSTILE ?? '') === '') return
  const shown = ({ count, p50Ms, p99Ms, maxMs }: Latencies): string =>
    `${count} in ${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)}/${maxMs.toFixed(1)} ms`
  const lines = Object.entries(seen.victims as Record<string, VictimReport>).map(
    ([name, { gets, puts, visits, refusals }]) =>
      `  ${name}: gets ${shown(gets)}, puts ${shown(puts)}, visits ${shown(visits)}, refused ${JSON.stringify(refusals)}`,
  )
  const { beforeBytes, peakBytes } = seen.memory
  lines.push(`  memory ${Math.round(beforeBytes / mib)} to ${Math.round(peakBytes / mib)} MiB`)
  lines.push(`  attackers ${JSON.stringify(seen.attack.answers)}, ${seen.attack.open} open`)
  console.log([what, ...lines].join('\n'))
}

// ── What is expected ───────────────────────────────────────────────────────────────────────────────────────

type OfVictims = Pick<Seen, 'victims'>

/** Every request of the victims was answered 200, and there were some of each kind. */
export const expectNobodyRefused = ({ victims }: { victims: object }): void => {
  for (const [name, { refusals, gets, puts, visits }] of Object.entries(victims as Record<string, VictimReport>)) {
    expect({ name, refusals }).toEqual({ name, refusals: {} })
    expect(Math.min(gets.count, puts.count, visits.count)).toBeGreaterThan(0)
  }
}

/** The server never held more than so many bytes above what it held before. */
export const expectMemoryWithin = ({ memory }: Pick<Seen, 'memory'>, moreBytesMax: number): void => {
  if (!canReadMemory) return
  expect(memory.peakBytes - memory.beforeBytes).toBeLessThan(moreBytesMax)
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!

const activities = ['gets', 'puts', 'visits'] as const
type Activity = (typeof activities)[number]

/** One number of each victim and each of its activities, as the median of the rounds, within its bound. */
const expectTimes = (seen: OfVictims[], of: readonly Activity[], pick: 'p50Ms' | 'maxMs', ms: number): void => {
  const boundMs = ms * inFull(1, 10)
  for (const name of ['stranger', 'neighbour'] as const) {
    for (const activity of of) {
      const tookMs = median(seen.map(({ victims }) => victims[name][activity][pick]))
      expect({ name, activity, [pick]: tookMs, boundMs, within: tookMs < boundMs }).toMatchObject({ within: true })
    }
  }
}

/** The longest that any request of a victim took. */
export const expectStallsWithin = (seen: OfVictims[], ms: number): void => expectTimes(seen, activities, 'maxMs', ms)

/** Half of the gets of each victim were quicker. */
export const expectGetsWithin = (seen: OfVictims[], ms: number): void =>
  expectTimes(seen, ['gets', 'visits'], 'p50Ms', ms)

/** Plays `rounds` times. */
export const playRounds = async (play: () => Promise<Seen>): Promise<Seen[]> => {
  const seen: Seen[] = []
  for (let round = 0; round < rounds; round++) seen.push(await play())
  return seen
}

// ── Material ───────────────────────────────────────────────────────────────────────────────────────────────

/** Fills the table, batches of 25 in parallel, each small enough for its body. */
export const fillTable = async (table: TestTable, records: object[], batchMax = 25): Promise<void> => {
  const batches: object[][] = []
  for (let at = 0; at < records.length; at += batchMax) batches.push(records.slice(at, at + batchMax))
  await inParallel(batches, 16, (batch) => table.fill(batch))
}

/** JSON text of so many bytes or a little less: objects that cost a JavaScript engine thousands of times their text. */
export const costlyArray = (bytes: number): string => {
  const one = '{"999":1}'
  const count = Math.floor((bytes - 1) / (one.length + 1))
  return `[${Array(count).fill(one).join(',')}]`
}
