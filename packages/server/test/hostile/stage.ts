import { expect } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { eventually, type Organization, type Server, type StartOptions, startServer } from '../harness.ts'
import { inParallel, makeTable, ok, type TestTable } from '../http/service.ts'
import type { Attack, AttackReport } from './attackers.ts'
import { Reporter } from './reports.ts'
import type { Latencies, VictimOrder, VictimReport } from './victim.ts'

// The setup of all tests here: one server, attackers and victim as separate processes, and the server's memory, read from
// outside. With `CUBBY_TEST_HOSTILE=full` everything runs at full size, and the median of three rounds must be within the time
// limits. The short form runs less, and asserts no time: it compares what the victims get done during the attack with what they
// got done just before it, and their waits with the work that the server does for the attackers meanwhile. All print their
// figures.

const isFull = process.env.CUBBY_TEST_HOSTILE === 'full'
/** The short form plays another round only if the machine was too busy in the last one. */
const roundsMax = 3
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

/** One victim is of another organization; the other has the secret key of the attacker's own. */
interface Victims {
  stranger: VictimReport
  neighbour: VictimReport
}

export interface Seen {
  victims: Victims
  /** The same victims just before the attack. */
  before: Victims
  attack: AttackReport
  /** Answers to the attackers per millisecond, while the victims were measured. */
  answersPerMs: number
  memory: Memory
}

/** The least number of samples of each kind, so that a median says something. */
const samplesMin = 8
const calmMs = 300

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
  async play(
    attack: Attack,
    options: { forMs: number; victim?: Partial<VictimOrder>; neighbourKey?: string },
  ): Promise<Seen> {
    const ending: { end(): Promise<void> }[] = []
    const begin = async <T extends { end(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
      const started = await starting
      ending.push(started)
      return started
    }
    const victimOf = ({ organization, table }: Party, key = organization.secretKey): Promise<Reporter<VictimReport>> =>
      begin(startVictim(this.server, { key, path: table.path, ...options.victim }))
    try {
      const [stranger, neighbour] = [await victimOf(this.stranger), await victimOf(this.attacker, options.neighbourKey)]
      const reports = async () => ({ stranger: await stranger.report(), neighbour: await neighbour.report() })
      /** Reports what happens for at least so long, and until there are enough samples. */
      const reportsAfter = async (ms: number): Promise<Victims> => {
        await Bun.sleep(ms)
        await eventually(
          'some requests of each kind are answered',
          async () => {
            const looks = [await stranger.look(), await neighbour.look()]
            const counts = looks.flatMap(({ gets, puts, visits }) => [gets.count, puts.count, visits.count])
            return Math.min(...counts) >= samplesMin ? true : undefined
          },
          { waitMsMax: 45_000, pauseMs: 50 },
        )
        return reports()
      }
      const { value, memory } = await watchMemory(this.server.pid, async () => {
        await reports()
        const before = await reportsAfter(calmMs)
        this.#calmBytes ??= memoryBytes(this.server.pid)
        const attackers = await begin(startAttack(this.server, attack))
        const [first, beginning] = [await reports(), await attackers.report()]
        const startedAtMs = performance.now()
        const last = await reportsAfter(options.forMs)
        const measured = await attackers.report()
        const answersPerMs = answersOf(measured) / (performance.now() - startedAtMs)
        const victims = {
          stranger: afterBeginning(first.stranger, last.stranger),
          neighbour: afterBeginning(first.neighbour, last.neighbour),
        }
        return { victims, before, answersPerMs, attack: await someAnswers(attack, attackers, [beginning, measured]) }
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

/** Percentiles of the attack itself; how many were served while it began, and what went wrong, counts too. */
const afterBeginning = (beginning: VictimReport, report: VictimReport): VictimReport => {
  const later = (activity: 'gets' | 'puts' | 'visits'): Latencies => ({
    ...report[activity],
    count: beginning[activity].count + report[activity].count,
    maxMs: Math.max(beginning[activity].maxMs, report[activity].maxMs),
  })
  const refusals = { ...beginning.refusals }
  for (const [what, times] of Object.entries(report.refusals)) refusals[what] = (refusals[what] ?? 0) + times
  const ms = beginning.ms + report.ms
  return { ms, gets: later('gets'), puts: later('puts'), visits: later('visits'), refusals }
}

const answersOf = ({ answers }: AttackReport): number =>
  Object.values(answers)
    .flatMap((outcomes) => Object.values(outcomes))
    .reduce((sum, times) => sum + times, 0)

/** Adds what a later report of the same attackers says. */
export const addAnswers = (answers: AttackReport['answers'], later: AttackReport): void => {
  for (const [name, outcomes] of Object.entries(later.answers)) {
    answers[name] ??= {}
    for (const [outcome, times] of Object.entries(outcomes)) {
      answers[name][outcome] = (answers[name][outcome] ?? 0) + times
    }
  }
}

/** A slow machine may only have refused those of a large kind yet: what is looked for is that it does answer. */
const someAnswers = async (
  attack: Attack,
  attackers: Reporter<AttackReport>,
  reports: AttackReport[],
): Promise<AttackReport> => {
  const answers: AttackReport['answers'] = {}
  for (const report of reports) addAnswers(answers, report)
  const groups = attack.kind === 'loop' ? attack.groups : []
  const isAnswered = ({ name }: { name: string }): boolean =>
    Object.keys(answers[name] ?? {}).some((outcome) => outcome !== '503')
  return eventually(
    'each group of the attackers is answered',
    async () => {
      const report = await attackers.report()
      addAnswers(answers, report)
      return groups.every(isAnswered) ? { ...report, answers } : undefined
    },
    { waitMsMax: 45_000, pauseMs: 100 },
  )
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
export const note = (
  what: string,
  seen: { victims: object; before?: object; answersPerMs?: number; attack: AttackReport; memory: Memory },
): void => {
  const shown = ({ count, p50Ms, p99Ms, maxMs }: Latencies): string =>
    `${count} in ${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)}/${maxMs.toFixed(1)} ms`
  const all = ({ gets, puts, visits }: VictimReport): string =>
    `gets ${shown(gets)}, puts ${shown(puts)}, visits ${shown(visits)}`
  const lines = Object.entries(seen.victims as Record<string, VictimReport>).flatMap(([name, during]) => {
    const before = (seen.before as Record<string, VictimReport> | undefined)?.[name]
    const calm = before === undefined ? [] : [`  ${name} before: ${all(before)} in ${before.ms.toFixed(0)} ms`]
    return [
      ...calm,
      `  ${name}: ${all(during)} in ${during.ms.toFixed(0)} ms, refused ${JSON.stringify(during.refusals)}`,
    ]
  })
  const { beforeBytes, peakBytes } = seen.memory
  lines.push(`  memory ${Math.round(beforeBytes / mib)} to ${Math.round(peakBytes / mib)} MiB`)
  const rate = seen.answersPerMs === undefined ? '' : `, ${(seen.answersPerMs * 1000).toFixed(1)} per second`
  lines.push(`  attackers ${JSON.stringify(seen.attack.answers)}${rate}, ${seen.attack.open} open`)
  console.log([what, ...lines].join('\n'))
}

// ── What is expected ───────────────────────────────────────────────────────────────────────────────────────

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
const victimNames = ['stranger', 'neighbour'] as const

/** The cost that an attack may have for others. */
export interface Bound {
  /** The full form, on an idle machine: how long any request may take, and half of the gets. */
  stallMs?: number
  getMs?: number
  /** The short form: how many times as many requests of each kind a victim has answered per second before the attack. */
  slowerMax: number
  /** The short form: how many requests of the attackers may be answered during half of the gets. */
  answersMax?: number
}

/** One number of each victim and each of its activities, as the median of the rounds, within its bound. */
const expectTimes = (seen: Seen[], of: readonly Activity[], pick: 'p50Ms' | 'maxMs', boundMs = Infinity): void => {
  for (const name of victimNames) {
    for (const activity of of) {
      const tookMs = median(seen.map(({ victims }) => victims[name][activity][pick]))
      expect({ name, activity, [pick]: tookMs, boundMs, within: tookMs < boundMs }).toMatchObject({ within: true })
    }
  }
}

/** The figures of the short form that are not within its bounds. Each is a ratio of what was seen in the same round. */
const beyond = ({ victims, before, answersPerMs }: Seen, { slowerMax, answersMax = Infinity }: Bound): object[] => {
  const found: object[] = []
  for (const name of victimNames) {
    const rateOf = (report: VictimReport, activity: Activity): number => report[activity].count / report.ms
    for (const activity of activities) {
      const slower = rateOf(before[name], activity) / rateOf(victims[name], activity)
      if (slower > slowerMax) found.push({ name, activity, slower, slowerMax })
      const answers = victims[name][activity].p50Ms * answersPerMs
      if (activity !== 'puts' && answers > answersMax) found.push({ name, activity, answers, answersMax })
    }
  }
  return found
}

/** Others were served as well as the bound asks. */
export const expectServed = (seen: Seen[], bound: Bound): void => {
  if (isFull) {
    expectTimes(seen, activities, 'maxMs', bound.stallMs)
    expectTimes(seen, ['gets', 'visits'], 'p50Ms', bound.getMs)
  } else expect(beyond(seen.at(-1)!, bound)).toEqual([])
}

/** The full form plays all rounds; the short form until one is within the bound. */
export const playRounds = async (bound: Bound, play: () => Promise<Seen>): Promise<Seen[]> => {
  const seen: Seen[] = []
  do seen.push(await play())
  while (seen.length < roundsMax && (isFull || beyond(seen.at(-1)!, bound).length > 0))
  return seen
}

// ── Test data ───────────────────────────────────────────────────────────────────────────────────────────────

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
