import { answerLines } from './reports.ts'
import { type Head, requestBytes, Wire } from './wire.ts'

// An ordinary client during an attack, as a separate process. It gets and puts at a steady pace over kept connections, and now
// and then over a new one.

export interface VictimOrder {
  port: number
  key: string
  /** The path of its table. */
  path: string
  /** The size of its puts. */
  putBytes: number
  pauseMs: number
}

export interface Latencies {
  count: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

export interface VictimReport {
  /** The time since the report before. */
  ms: number
  gets: Latencies
  puts: Latencies
  /** Gets over a new connection, the connecting included. */
  visits: Latencies
  /** Everything that was not 200, with how often: statuses, and `ended` or `unconnected` for lost connections. */
  refusals: Record<string, number>
}

type Activity = 'gets' | 'puts' | 'visits'

await answerLines<VictimOrder, VictimReport>(async ({ port, key, path, putBytes, pauseMs }) => {
  const samples: Record<Activity, number[]> = { gets: [], puts: [], visits: [] }
  const startedAtMs: Record<Activity, number | undefined> = { gets: undefined, puts: undefined, visits: undefined }
  let refusals: VictimReport['refusals'] = {}
  const refuse = (what: string): void => {
    refusals[what] = (refusals[what] ?? 0) + 1
  }

  const head = (method: string, at: string): Head => ({ method, path: at, key })
  const getBytes = requestBytes(head('GET', `${path}/victim`))
  const putRequest = (n: number): Buffer =>
    requestBytes(head('PUT', path), JSON.stringify({ hashKey: 'victim', data: { n, text: 'v'.repeat(putBytes) } }))

  /** One request; `undefined` when its connection was lost. */
  const once = async (activity: Activity, wire: Wire, bytes: Uint8Array): Promise<void> => {
    wire.send(bytes)
    const status = await wire.answer().catch(() => 'ended')
    if (status !== 200) refuse(`${activity}: ${status}`)
  }

  const timed = async (activity: Activity, work: () => Promise<void>): Promise<void> => {
    startedAtMs[activity] = performance.now()
    await work()
    samples[activity].push(performance.now() - startedAtMs[activity]!)
    startedAtMs[activity] = undefined
  }

  const connect = async (): Promise<Wire | undefined> =>
    Wire.open(port).catch(() => {
      refuse('unconnected')
      return undefined
    })

  const keepOn = async (activity: Activity, bytes: (n: number) => Uint8Array): Promise<void> => {
    let wire = await connect()
    for (let n = 0; ; n++) {
      if (wire !== undefined) await timed(activity, () => once(activity, wire!, bytes(n)))
      if (wire === undefined || wire.ended) wire = await connect()
      await Bun.sleep(pauseMs)
    }
  }

  const visit = async (): Promise<void> => {
    for (;;) {
      await timed('visits', async () => {
        const wire = await connect()
        if (wire === undefined) return
        await once('visits', wire, getBytes)
        wire.close()
      })
      await Bun.sleep(pauseMs * 4)
    }
  }

  // Before anything is measured: the record is there and the code is warm.
  const first = await Wire.open(port)
  for (let n = 0; n < 50; n++) {
    await once('puts', first, putRequest(n))
    await once('gets', first, getBytes)
  }
  first.close()
  keepOn('gets', () => getBytes)
  keepOn('puts', putRequest)
  visit()

  let reportedAtMs = performance.now()
  const latencies = (activity: Activity, keep: boolean): Latencies => {
    const now = performance.now()
    // A request that is not answered yet has waited at least so long: a stall that outlasts the measurement is seen too.
    const pending = startedAtMs[activity]
    const sorted = samples[activity].slice()
    if (!keep) samples[activity] = []
    if (pending !== undefined && now - pending > 100) sorted.push(now - pending)
    sorted.sort((a, b) => a - b)
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: sorted.at(-1) ?? 0 }
  }
  return (keep) => {
    const [gets, puts, visits] = [latencies('gets', keep), latencies('puts', keep), latencies('visits', keep)]
    const report = { ms: performance.now() - reportedAtMs, gets, puts, visits, refusals }
    if (keep) return report
    reportedAtMs = performance.now()
    refusals = {}
    return report
  }
})
