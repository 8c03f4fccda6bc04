import { describe, expect, test } from 'bun:test'
import { chooseFormat, renderMetrics } from '../../src/metrics/exposition.ts'
import { Registry } from '../../src/metrics/registry.ts'
import { Scraper, sumProcesses } from '../../src/metrics/scrape.ts'
import { readMetrics, sumOf } from './exposition-rules.ts'

const valuesOf = async (registry: Registry): Promise<Float64Array> =>
  Float64Array.from((await registry.snapshot()).values)

describe('the text', () => {
  test('both formats are by the rules, and say the same', async () => {
    const registry = new Registry()
    const strange = 'a "quote", a \\ and a\nline'
    const colour = { name: 'colour', values: ['red', 'green'] }
    const shape = { name: 'shape', values: ['round', strange] }
    const counter = registry.counter({ name: 'x_things_total', help: `Things: ${strange}`, labels: [colour, shape] })
    const gauge = registry.gauge({ name: 'x_size_bytes', help: 'A size.' })
    const histogram = registry.histogram({ name: 'x_wait_seconds', help: 'A wait.', buckets: [0.5, 1, 10] })
    registry.info({ name: 'x_build_info', help: 'About it.' }, { version: '1.2' })
    counter.add(3, 1)
    counter.add(2, 2)
    gauge.set(0.25)
    for (const seconds of [0.5, 0.75, 1, 11, 400]) histogram.observe(seconds)
    const values = await valuesOf(registry)
    for (const format of ['prometheus', 'openmetrics'] as const) {
      const families = readMetrics(renderMetrics(registry.families, values, format), format)
      expect(sumOf(families, 'x_things_total', { colour: 'red', shape: strange })).toBe(3)
      expect(sumOf(families, 'x_things_total', { colour: 'green', shape: 'round' })).toBe(2)
      expect(sumOf(families, 'x_things_total')).toBe(5)
      expect(sumOf(families, 'x_size_bytes')).toBe(0.25)
      const bounds = ['0.5', '1.0', '10.0', '+Inf']
      expect(bounds.map((le) => sumOf(families, 'x_wait_seconds_bucket', { le }))).toEqual([1, 3, 3, 5])
      expect(sumOf(families, 'x_wait_seconds_sum')).toBe(413.25)
      expect(sumOf(families, 'x_wait_seconds_count')).toBe(5)
      expect(sumOf(families, 'x_build_info', { version: '1.2' })).toBe(1)
      const heads = families.map(({ name, type, unit }) => [name, type, unit])
      expect(heads).toEqual(
        format === 'prometheus'
          ? [
              ['x_things_total', 'counter', undefined],
              ['x_size_bytes', 'gauge', undefined],
              ['x_wait_seconds', 'histogram', undefined],
              ['x_build_info', 'gauge', undefined],
            ]
          : [
              ['x_things', 'counter', undefined],
              ['x_size_bytes', 'gauge', 'bytes'],
              ['x_wait_seconds', 'histogram', 'seconds'],
              ['x_build', 'info', undefined],
            ],
      )
    }
  })

  test('a gauge without a value is left out, and so are samples of 0 where that is declared', async () => {
    const registry = new Registry()
    const label = { name: 'kind', values: ['a', 'b'] }
    const sparse = registry.counter({ name: 'x_rare_total', help: 'Rare.', labels: [label], isSparse: true })
    registry.counter({ name: 'x_plain_total', help: 'Plain.', labels: [label] })
    registry.gauge({ name: 'x_unknown', help: 'Unknown.' })
    sparse.add(1, 1)
    const families = readMetrics(renderMetrics(registry.families, await valuesOf(registry), 'prometheus'))
    expect(families.map(({ name }) => name)).toEqual(['x_rare_total', 'x_plain_total'])
    expect(families.map(({ samples }) => samples.length)).toEqual([1, 2])
  })

  test('the rules notice what promtool would', () => {
    const broken = [
      'x_total 1\n',
      '# HELP x_total X.\n# TYPE x_total counter\nx_total 1',
      '# HELP x X.\n# TYPE x counter\nx 1\n',
      '# HELP x_total X.\n# TYPE x_total gauge\nx_total 1\n',
      '# HELP x_total X.\n# TYPE x_total counter\nx_total{a="1",a="2"} 1\n',
      '# HELP x_total X.\n# TYPE x_total counter\nx_total 1\nx_total 1\n',
      '# HELP x_ms X.\n# TYPE x_ms gauge\nx_ms 1\n',
      '# HELP x X.\n# TYPE x histogram\nx_bucket{le="+Inf"} 2\nx_sum 1\nx_count 1\n',
      '# HELP x X.\n# TYPE x histogram\nx_bucket{le="1.0"} 2\nx_sum 1\nx_count 2\n',
      '# HELP x X.\n# TYPE x gauge\nx{a="b" c} 1\n',
    ]
    for (const text of broken) expect(() => readMetrics(text)).toThrow()
  })
})

test('the format is the one that the scraper prefers', () => {
  const prometheus3 =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
  for (const [accept, format] of [
    [undefined, 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/plain', 'prometheus'],
    ['text/html', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    [prometheus3, 'openmetrics'],
    ['application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.3', 'prometheus'],
    ['application/openmetrics-text;q=0', 'prometheus'],
    ['application/openmetrics-text;version=9.0.0', 'prometheus'],
    ['APPLICATION/OpenMetrics-Text; version=1.0.0', 'openmetrics'],
  ] as const) {
    expect([accept, chooseFormat(accept)]).toEqual([accept, format])
  }
})

// A monitoring system takes a counter that goes back for a restart, and shows rates that never were.
describe('several processes', () => {
  const make = () => {
    const registry = new Registry()
    return {
      registry,
      scraper: new Scraper(registry, 300),
      done: registry.counter({ name: 'x_done_total', help: 'Done.' }),
      open: registry.gauge({ name: 'x_open', help: 'Open.' }),
      store: registry.gauge({ name: 'x_store_bytes', help: 'Store.', isOfStore: true }),
      wait: registry.histogram({ name: 'x_wait_seconds', help: 'Wait.', buckets: [1] }),
    }
  }
  const read = async (owner: ReturnType<typeof make>) => {
    const families = readMetrics(await owner.scraper.scrape('prometheus'))
    return (name: string) => sumOf(families, name)
  }
  /** A worker that answers at once, or not at all while `hangs`. */
  const addWorker = (owner: ReturnType<typeof make>) => {
    const worker = { ...make(), hangs: false, asked: 0 }
    const member = {
      ask() {
        worker.asked++
        if (!worker.hangs) void worker.registry.snapshot().then((snapshot) => owner.scraper.answer(member, snapshot))
      },
    }
    owner.scraper.join(member)
    return { worker, member }
  }

  test('counters, histograms and gauges are summed; what is of the store is the owner’s', async () => {
    const owner = make()
    const { worker } = addWorker(owner)
    for (const one of [owner, worker]) {
      one.done.add(2)
      one.wait.observe(3)
      one.registry.collect([one.open, one.store], () => {
        one.open.set(5)
        one.store.set(7)
      })
    }
    const value = await read(owner)
    expect([value('x_done_total'), value('x_wait_seconds_count'), value('x_wait_seconds_sum')]).toEqual([4, 2, 6])
    expect([value('x_open'), value('x_store_bytes')]).toEqual([10, 7])
    expect([value('cubby_processes'), value('cubby_processes_answered')]).toEqual([2, 2])
  })

  test('a worker that hangs keeps its counters, not its gauges; the scrape says so and goes on', async () => {
    const owner = make()
    const { worker, member } = addWorker(owner)
    worker.registry.collect([worker.open], () => worker.open.set(5))
    worker.done.add(3)
    expect((await read(owner))('x_done_total')).toBe(3)
    worker.hangs = true
    worker.done.add(1)
    const hung = await read(owner)
    expect([hung('x_done_total'), hung('x_open')]).toEqual([3, undefined])
    expect([hung('cubby_processes'), hung('cubby_processes_answered')]).toEqual([2, 1])
    // It owes an answer: it is not asked again, so that nothing piles up.
    expect((await read(owner))('x_done_total')).toBe(3)
    expect(worker.asked).toBe(2)
    worker.hangs = false
    owner.scraper.answer(member, await worker.registry.snapshot())
    const back = await read(owner)
    expect([back('x_done_total'), back('x_open'), back('cubby_processes_answered')]).toEqual([4, 5, 2])
  })

  test('the counters of a worker that has ended stay in the sum, and those of its successor are added', async () => {
    const owner = make()
    owner.done.add(1)
    let expected = 1
    for (let i = 1; i <= 3; i++) {
      const { worker, member } = addWorker(owner)
      worker.done.add(i)
      worker.wait.observe(i)
      expected += i
      expect((await read(owner))('x_done_total')).toBe(expected)
      owner.scraper.leave(member)
      const after = await read(owner)
      expect([after('x_done_total'), after('x_wait_seconds_count'), after('cubby_processes')]).toEqual([expected, i, 1])
    }
  })

  test('numbers of a process with other metrics are not added', async () => {
    const owner = make()
    const { worker } = addWorker(owner)
    worker.done.add(3)
    worker.registry.counter({ name: 'x_newer_total', help: 'Newer.' })
    const value = await read(owner)
    expect([value('x_done_total'), value('cubby_processes_answered')]).toEqual([0, 1])
  })

  test('a source that fails or hangs leaves out its own gauges only', async () => {
    const owner = make()
    owner.registry.collect([owner.open], () => new Promise(() => {}))
    owner.registry.collect([owner.store], () => {
      throw new Error('no')
    })
    owner.done.add(1)
    const value = await read(owner)
    expect([value('x_done_total'), value('x_open'), value('x_store_bytes')]).toEqual([1, undefined, undefined])
  })

  test('one that asks during a scrape gets what happened before it asked', async () => {
    const owner = make()
    const first = owner.scraper.scrape('prometheus')
    await Promise.resolve()
    owner.done.add(1)
    const later = await Promise.all([1, 2, 3].map(() => read(owner)))
    await first
    expect(later.map((value) => value('x_done_total'))).toEqual([1, 1, 1])
  })

  test('sums of nothing are nothing', () => {
    const { registry } = make()
    const sums = sumProcesses(registry.families, [{ values: [], isCurrent: true }])
    expect([...sums].every(Number.isNaN)).toBe(true)
  })
})
