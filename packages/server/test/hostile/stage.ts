import { expect } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { type Organization, type Server, type StartOptions, startServer } from '../harness.ts'
import { inParallel, makeTable, ok, type TestTable } from '../http/service.ts'
import type { Attack, AttackReport } from './attackers.ts'
import { Reporter } from './reports.ts'
import type { Latencies, VictimOrder, VictimReport } from './victim.ts'

// What every file here plays on: one server, attackers and victim as processes of their own, and the memory of the server
// read from outside. `CUBBY_TEST_HOSTILE=full` plays everything at full size and holds times to their bounds, by the median
// of three rounds. The short form plays less, asserts strictly what noise cannot change (alive, memory, nobody refused) and
// times only within ten times the bound.

export const isFull = process.env.CUBBY_TEST_HOSTILE === 'full'
export const rounds = isFull ? 3 : 1
/** The first for the full form, the second for the short one. */
export const inFull = <T>(full: T, short: T): T => (isFull ? full : short)
export const timeBoundMs = (ms: number): number => ms * inFull(1, 10)

export const mib = 1_048_576

/** Memory is read from /proc. */
export const canReadMemory = existsSync('/proc/self/status')

/** Anonymous resident memory: what the process itself holds, without files that it has mapped. */
export const memoryBytes = (pid: number): number => {
  // None where there is no /proc, and none of a process that has died: whoever asks the server next finds that.
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

/** Whose victim it is: rows of attacks are played against both. */
export type VictimOf = 'another organization' | 'the same organization, with its secret key'
export const victimsOf: VictimOf[] = ['another organization', 'the same organization, with its secret key']

/** An organization with a table. */
export interface Party {
  organization: Organization
  table: TestTable
}

export interface Seen {
  victim: VictimReport
  attack: AttackReport
  memory: Memory
}

export class Stage {
  readonly server: Server
  readonly attacker: Party
  readonly stranger: Party
  /** Before the first attack. Later ones are held to the same: what an attack leaves behind counts too. */
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

  party(victimOf: VictimOf): Party {
    return victimOf === 'another organization' ? this.stranger : this.attacker
  }

  victim(victimOf: VictimOf, more: Partial<VictimOrder> = {}): Promise<Reporter<VictimReport>> {
    const { organization, table } = this.party(victimOf)
    return startVictim(this.server, { key: organization.secretKey, path: table.path, ...more })
  }

  attack(attack: Attack): Promise<Reporter<AttackReport>> {
    return startAttack(this.server, attack)
  }

  /** The victim goes on with its work while the attack runs for so long; afterwards the server must be well. */
  async play(
    attack: Attack,
    options: { victimOf: VictimOf; forMs: number; victim?: Partial<VictimOrder> },
  ): Promise<Seen> {
    const victim = await this.victim(options.victimOf, options.victim)
    let attackers: Reporter<AttackReport> | undefined
    try {
      const { value, memory } = await watchMemory(this.server.pid, async () => {
        await victim.report()
        this.#calmBytes ??= memoryBytes(this.server.pid)
        attackers = await this.attack(attack)
        const beginning = await victim.report()
        await Bun.sleep(options.forMs)
        return { victim: afterBeginning(beginning, await victim.report()), attack: await attackers.report() }
      })
      const seen = { ...value, memory: { ...memory, beforeBytes: this.#calmBytes! } }
      note(`${attack.kind} against ${options.victimOf}`, seen)
      await this.expectWell()
      return seen
    } finally {
      await attackers?.end()
      await victim.end()
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

/** Figures of the full form, for whoever reads its output. */
export const note = (what: string, { victim, attack, memory }: Seen): void => {
  if (!isFull && process.env.CUBBY_TEST_HOSTILE !== 'shown') return
  const shown = ({ count, p50Ms, p99Ms, maxMs }: Latencies): string =>
    `${count} of ${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)}/${maxMs.toFixed(1)} ms`
  console.log(
    `${what}: gets ${shown(victim.gets)}, puts ${shown(victim.puts)}, visits ${shown(victim.visits)}, ` +
      `refusals ${JSON.stringify(victim.refusals)}; memory ${Math.round(memory.beforeBytes / mib)} to ` +
      `${Math.round(memory.peakBytes / mib)} MiB; attackers ${JSON.stringify(attack.answers)}, ${attack.open} open`,
  )
}

// ── What is expected ───────────────────────────────────────────────────────────────────────────────────────

/** Every request of the victim was answered 200, and there were some of each kind. */
export const expectNobodyRefused = ({ victim }: Pick<Seen, 'victim'>): void => {
  expect(victim.refusals).toEqual({})
  expect(Math.min(victim.gets.count, victim.puts.count, victim.visits.count)).toBeGreaterThan(0)
}

/** The server never held more than so many bytes above what it held before. */
export const expectMemoryWithin = ({ memory }: Pick<Seen, 'memory'>, moreBytesMax: number): void => {
  if (!canReadMemory) return
  expect(memory.peakBytes - memory.beforeBytes).toBeLessThan(moreBytesMax)
}

export const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!

/** The longest that any request of the victim took, get or put, as the median of the rounds. */
export const expectStallsWithin = (seen: Pick<Seen, 'victim'>[], ms: number): void => {
  const longest = (pick: (victim: VictimReport) => Latencies): number => median(seen.map((s) => pick(s.victim).maxMs))
  expect({
    gets: longest(({ gets }) => gets) < timeBoundMs(ms),
    puts: longest(({ puts }) => puts) < timeBoundMs(ms),
    visits: longest(({ visits }) => visits) < timeBoundMs(ms),
    longestMs: [longest(({ gets }) => gets), longest(({ puts }) => puts), longest(({ visits }) => visits)],
  }).toMatchObject({ gets: true, puts: true, visits: true })
}

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
