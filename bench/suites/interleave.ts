import type { Series } from '../results.ts'
import type { Subject } from '../subjects/subject.ts'
import type { Scenario } from '../workload.ts'

export interface Rounds {
  rounds: number
  seconds: number
  warmSeconds: number
  say(line: string): void
}

/**
 * In every round, each scenario runs on each subject in turn (A B C A B C …), so that a slow phase of the machine
 * affects all of them. A run before the first round is not counted: there code is compiled and caches fill.
 */
export const interleave = async (
  subjects: Subject[],
  scenarios: readonly Scenario[],
  { rounds, seconds, warmSeconds, say }: Rounds,
): Promise<Series[]> => {
  const all = scenarios.flatMap((scenario) =>
    subjects.map((subject) => ({ subject, series: { scenario, subject: subject.name, rounds: [] } as Series })),
  )
  for (const { subject, series } of all) await subject.measure(series.scenario, warmSeconds)
  for (let round = 1; round <= rounds; round++) {
    for (const { subject, series } of all) series.rounds.push(await subject.measure(series.scenario, seconds))
    say(`round ${round} of ${rounds}`)
  }
  for (const { series } of all) {
    say(
      `${series.scenario}, ${series.subject}: ${series.rounds.map((one) => Math.round(one.requestsPerSecond)).join(', ')}/s`,
    )
  }
  return all.map(({ series }) => series)
}

export const bytesPerRecord = (subjects: Subject[]): Record<string, number> =>
  Object.fromEntries(
    subjects.flatMap((subject) =>
      subject.bytesPerRecord === undefined ? [] : [[subject.name, subject.bytesPerRecord]],
    ),
  )

/** Closes the subjects, also when a measurement failed. */
export const withSubjects = async <S extends Subject, T>(subjects: S[], work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } finally {
    for (const subject of subjects) await subject.close()
  }
}
