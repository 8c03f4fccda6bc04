import type { Registry } from './registry.ts'

// What a process does beside requests: pushes of runs, and bytes of files.

export interface CountedPushes {
  /** Counts the push while it runs, and its outcome. */
  count<T extends { status: 'succeeded' | 'failed' }>(push: Promise<T>): Promise<T>
}

const outcomes = ['succeeded', 'failed', 'error'] as const

export const countPushes = (registry: Registry): CountedPushes => {
  const pushes = registry.counter({
    name: 'cubby_task_pushes_total',
    help: 'Pushes of runs that ended, by outcome. error: by an error of the server.',
    labels: [{ name: 'outcome', values: outcomes }],
  })
  const gauge = registry.gauge({ name: 'cubby_task_pushes_in_flight', help: 'Pushes that have no answer yet.' })
  let inFlight = 0
  registry.collect([gauge], () => gauge.set(inFlight))
  const end = (outcome: (typeof outcomes)[number]): void => {
    inFlight--
    pushes.add(1, outcomes.indexOf(outcome))
  }
  return {
    count(push) {
      inFlight++
      return push.then(
        (result) => {
          end(result.status)
          return result
        },
        (error: unknown) => {
          end('error')
          throw error
        },
      )
    },
  }
}

export interface CountedFiles {
  written(bytes: number): void
  read(bytes: number): void
}

export const countFiles = (registry: Registry): CountedFiles => {
  const bytes = registry.counter({
    name: 'cubby_file_bytes_total',
    help: 'Bytes of files that were written to their place and read from it.',
    labels: [{ name: 'direction', values: ['written', 'read'] }],
  })
  return {
    written: (count) => bytes.add(count, 0),
    read: (count) => bytes.add(count, 1),
  }
}
