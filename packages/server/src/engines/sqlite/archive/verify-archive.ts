import { OperatorError } from '../../../core/operator-error.ts'
import type { ArchiveReport } from '../../../store/closed-store.ts'
import type { BlockMeta } from './block.ts'
import { type KnownRun, readArchive, requireNext, segmentPaths } from './catalogue.ts'
import { blocks, readBase } from './restore-archive.ts'

/** Reads the whole archive and compares everything with its digests. Also beside a server that writes it. */
export const verifyArchive = (dir: string): ArchiveReport => {
  const runs = readArchive(dir)
  const findings: string[] = []
  for (const run of runs) checkRun(run, findings)
  const usable = runs.filter(({ bases }) => bases.length > 0)
  const ranges = usable.map((run) => ({
    fromMs: run.bases[0]!.usableFromMs,
    toMs: run.coveredMs,
    bases: run.bases.length,
    segments: run.segments.length,
  }))
  const gaps = usable.slice(1).map((run, i) => ({
    fromMs: usable[i]!.coveredMs,
    toMs: run.bases[0]!.usableFromMs,
    reason: usable[i]!.end?.reason ?? run.start?.reason ?? 'not known',
  }))
  return { findings, ranges, gaps }
}

const checkRun = (run: KnownRun, findings: string[]): void => {
  const attempt = (check: () => void): void => {
    try {
      check()
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      findings.push(error.message)
    }
  }
  for (const base of run.bases) attempt(() => readBase({ run, base }, () => {}))
  const first = run.bases[0]?.firstSegment ?? run.segments[0]
  if (first === undefined) return
  attempt(() => {
    let last: BlockMeta | undefined
    for (const path of segmentPaths(run, first)) {
      for (const { meta } of blocks(path)) {
        requireNext(path, last, meta)
        last = meta
      }
    }
  })
}
