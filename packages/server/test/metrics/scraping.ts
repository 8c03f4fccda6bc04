import { eventually, type Server } from '../harness.ts'
import { type ReadFamily, readMetrics, sumOf } from './exposition-rules.ts'

/** The `args` of a server with metrics. */
export const metricsOn = ['--metrics', '127.0.0.1:0']

/** The URL that the last start has logged. */
export const metricsUrl = (server: Server): string =>
  server.log.findLast(({ message }) => message === 'listening')!.metrics

export const scrape = async (server: Server): Promise<ReadFamily[]> => {
  const answer = await fetch(metricsUrl(server))
  return readMetrics(await answer.text())
}

/** A scrape that all processes have answered: on a busy machine one may be late. */
export const scrapeAll = (server: Server): Promise<ReadFamily[]> =>
  eventually(
    'a scrape that all processes answer',
    async () => {
      const families = await scrape(server)
      return sumOf(families, 'cubby_processes_answered') === sumOf(families, 'cubby_processes') ? families : undefined
    },
    { waitMsMax: 30_000 },
  )

/** Returns how much a counter grew between two scrapes. */
export const growth = (
  before: readonly ReadFamily[],
  after: readonly ReadFamily[],
  name: string,
  labels: Record<string, string> = {},
): number => (sumOf(after, name, labels) ?? 0) - (sumOf(before, name, labels) ?? 0)
