import type { Registry } from './registry.ts'

// Metrics of the work beside requests: pushes of runs, and bytes of files.

export interface CountedPushes {
  /** Counts the push while it runs, and its outcome. */
  count<T extends { status: 'succeeded' | 'failed' }>(push: Promise<T>): Promise<T>
  /** An answer was not read on, because this part of it was longer than allowed. */
  cut(part: (typeof answerParts)[number]): void
}

const outcomes = ['succeeded', 'failed', 'error'] as const
const answerParts = ['interim', 'head', 'body'] as const

export const countPushes = (registry: Registry): CountedPushes => {
  const pushes = registry.counter({
    name: 'cubby_task_pushes_total',
    help: 'Pushes of runs that ended, by outcome. error: by an error of the server.',
    labels: [{ name: 'outcome', values: outcomes }],
  })
  const cuts = registry.counter({
    name: 'cubby_task_push_answers_cut_total',
    help: 'Answers to pushes that were longer than allowed and not read on, by the part that was too long.',
    labels: [{ name: 'part', values: answerParts }],
  })
  const gauge = registry.gauge({ name: 'cubby_task_pushes_in_flight', help: 'Pushes that have no answer yet.' })
  let inFlight = 0
  registry.collect([gauge], () => gauge.set(inFlight))
  const end = (outcome: (typeof outcomes)[number]): void => {
    inFlight--
    pushes.add(1, outcomes.indexOf(outcome))
  }
  return {
    cut: (part) => cuts.add(1, answerParts.indexOf(part)),
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

/** Call the result for each request that may not wait for a run. */
export const countRefusedWaits = (registry: Registry): (() => void) => {
  const refused = registry.counter({
    name: 'cubby_task_waits_refused_total',
    help: 'Requests that asked to wait for a run and were refused, because too many wait.',
  })
  return () => refused.add(1)
}

export interface CountedFiles {
  written(bytes: number): void
  read(bytes: number): void
  /** An upload was refused at its head, or cut. */
  uploadRefused(reason: (typeof uploadRefusals)[number]): void
  /** A download was refused, or cut. */
  downloadRefused(reason: (typeof downloadRefusals)[number]): void
}

const uploadRefusals = ['url', 'organization', 'full', 'replaced', 'slow'] as const
const downloadRefusals = ['full', 'slow', 'idle', 'damaged'] as const

export const countFiles = (registry: Registry): CountedFiles => {
  const bytes = registry.counter({
    name: 'cubby_file_bytes_total',
    help: 'Bytes of files that were written to their place and read from it.',
    labels: [{ name: 'direction', values: ['written', 'read'] }],
  })
  const uploadsRefused = registry.counter({
    name: 'cubby_file_uploads_refused_total',
    help: 'Uploads that were refused because there was no place for them, and those that were cut, by reason.',
    labels: [{ name: 'reason', values: uploadRefusals }],
  })
  const downloadsRefused = registry.counter({
    name: 'cubby_file_downloads_refused_total',
    help: 'Downloads that were refused because there was no room or their bytes are damaged, and those that were cut.',
    labels: [{ name: 'reason', values: downloadRefusals }],
  })
  return {
    downloadRefused: (reason) => downloadsRefused.add(1, downloadRefusals.indexOf(reason)),
    uploadRefused: (reason) => uploadsRefused.add(1, uploadRefusals.indexOf(reason)),
    written: (count) => bytes.add(count, 0),
    read: (count) => bytes.add(count, 1),
  }
}
