import type { RequestTemplate } from '../load/template.ts'
import type { GrowthFigure, GrowthSize } from '../results.ts'
import { growthFigures } from '../results.ts'
import { callCubby, copyFilledStore, type FilledStore, serveCubby, startCubby } from '../subjects/cubby.ts'
import { CubbyDialect, table } from '../subjects/cubby-dialect.ts'
import type { ServerProcess } from '../subjects/server-process.ts'
import type { HttpSubject } from '../subjects/subject.ts'
import type { Context } from './context.ts'
import { withSubjects } from './interleave.ts'

const rowsPerPage = 10
const deepestPage = 10_000

/** Figures that are compared are measured in turn. Puts come last, because they move records in `t`, which pages read. */
const turns: GrowthFigure[][] = [['get'], ['page'], ['first page', 'deep page'], ['put']]

interface Grown {
  size: GrowthSize
  store: FilledStore
  cubby: HttpSubject
  templates: Record<GrowthFigure, RequestTemplate[]>
}

/** The cursor of the page of 10 with that number. It is found with larger pages. */
const cursorBefore = async (server: ServerProcess, store: FilledStore, page: number): Promise<string> => {
  let cursor: string | null = null
  for (let left = (page - 1) * rowsPerPage; left > 0; ) {
    const body = { index: 't', ascending: true, limit: Math.min(1_000, left), cursor }
    const answer = await callCubby(server, store.apiKey, 'POST', `${table}/query`, body)
    left -= answer.count
    cursor = answer.cursor
    if (cursor === null) throw new Error(`the table ended before page ${page}`)
  }
  return cursor!
}

const open = async (records: number, { settings }: Context): Promise<Grown> => {
  const store = await copyFilledStore(records)
  const startMs: number[] = []
  for (let round = 0; round < Math.max(3, settings.rounds); round++) {
    const server = await serveCubby(store.location)
    startMs.push(server.startMs)
    await server.stop()
  }
  const cubby = await startCubby('cubby', store, settings.load)
  // Never the last page, which has no next cursor.
  const deepPage = Math.min(deepestPage, Math.floor(records / rowsPerPage) - 1)
  const cursor = await cursorBefore(cubby.server, store, deepPage)
  const dialect = new CubbyDialect(store.apiKey)
  const page = (more: string): RequestTemplate[] => [
    { times: 1, parts: dialect.query([`{"index":"t","ascending":true,"limit":${rowsPerPage}${more}}`]) },
  ]
  return {
    store,
    cubby,
    size: {
      ...{ records, deepPage, startMs, bytesPerRecord: store.bytesPerRecord!, residentBytes: undefined },
      requestsPerSecond: Object.fromEntries(growthFigures.map((figure) => [figure, []])) as unknown as Record<
        GrowthFigure,
        number[]
      >,
    },
    templates: {
      get: dialect.templates('get', store.shape),
      page: dialect.templates('page', store.shape),
      'first page': page(''),
      'deep page': page(`,"cursor":${JSON.stringify(cursor)}`),
      put: dialect.templates('put', store.shape),
    },
  }
}

/** The same requests to stores of growing size, side by side: how does the speed depend on the number of records? */
export const runGrowth = async (context: Context): Promise<{ sizes: GrowthSize[] }> => {
  const { settings, say } = context
  const { rounds, seconds, warmSeconds } = settings
  const grown: Grown[] = []
  for (const records of settings.growth) {
    say(`filling a store with ${records} records`)
    grown.push(await open(records, context))
  }
  return withSubjects(
    grown.map(({ cubby }) => cubby),
    async () => {
      const measure = async ({ cubby, templates, size }: Grown, figure: GrowthFigure, length: number) => {
        const measured = await cubby.run(templates[figure], length, `${figure} at ${size.records}`)
        if (measured.residentBytes !== undefined) {
          size.residentBytes = Math.max(size.residentBytes ?? 0, measured.residentBytes)
        }
        return measured.requestsPerSecond
      }
      for (const figures of turns) {
        for (const figure of figures) for (const one of grown) await measure(one, figure, warmSeconds)
        for (let round = 0; round < rounds; round++) {
          for (const figure of figures) {
            for (const one of grown) one.size.requestsPerSecond[figure].push(await measure(one, figure, seconds))
          }
        }
        for (const figure of figures) {
          const rates = grown.map(({ size }) => `${Math.round(size.requestsPerSecond[figure].at(-1)!)}/s`)
          say(`${figure}: ${rates.join(', ')}`)
        }
      }
      return { sizes: grown.map(({ size }) => size) }
    },
  ).finally(() => {
    for (const { store } of grown) store.remove()
  })
}
