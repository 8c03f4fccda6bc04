import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { OperatorError } from '../../../core/operator-error.ts'
import { readManifest } from './archive-directory.ts'
import {
  ArchiveDamaged,
  type BaseInfo,
  basesOf,
  type Heartbeat,
  pathsOf,
  pathsOfRun,
  type RunEnd,
  type RunStart,
  readHeartbeat,
  readJson,
  runsOf,
  segmentPath,
  segmentsOf,
} from './archive-files.ts'
import { type BlockMeta, type FoundBlock, NotABlock, readBlockMeta } from './block.ts'

// What an archive has, for restores and checks. A server may be writing it meanwhile.

export interface KnownRun {
  number: number
  dir: string
  start: RunStart | undefined
  end: RunEnd | undefined
  /** In order. */
  bases: (BaseInfo & { number: number })[]
  /** Numbers, in order. One that is missing is missing here too. */
  segments: number[]
  /** The last segment that the run must have. */
  lastSegment: number
  /** Every write that was answered before this time, since the first base, is in the run. */
  coveredMs: number
}

export const readArchive = (dir: string): KnownRun[] => {
  if (!existsSync(dir)) throw new OperatorError(`there is no directory ${dir}`)
  if (readManifest(dir) === undefined) throw new OperatorError(`${dir} has no archive: archive.json is not there`)
  const heartbeat = readHeartbeat(dir)
  return runsOf(dir).map((number) => readRun(dir, number, heartbeat?.run === number ? heartbeat : undefined))
}

const readRun = (dir: string, number: number, heartbeat: Heartbeat | undefined): KnownRun => {
  const runDir = pathsOf(dir).run(number)
  const paths = pathsOfRun(runDir)
  const end = readJson<RunEnd>(paths.end)
  const segments = segmentsOf(runDir)
  const bases = basesOf(runDir).map((number) => ({ ...readJson<BaseInfo>(paths.baseInfo(number))!, number }))
  const lastMs = segments.length === 0 ? 0 : lastCoveredMs(segmentPath(runDir, segments.at(-1)!))
  const baseMs = bases.at(-1)?.usableFromMs ?? 0
  return {
    ...{ number, dir: runDir, bases, segments, end },
    start: readJson<RunStart>(paths.start),
    lastSegment: Math.max(segments.at(-1) ?? 0, heartbeat?.segment ?? 0),
    coveredMs: Math.max(end?.coveredMs ?? 0, heartbeat?.coveredMs ?? 0, lastMs, baseMs),
  }
}

const lastCoveredMs = (path: string | undefined): number => {
  let coveredMs = 0
  for (const { meta } of path === undefined ? [] : blockMetas(path)) coveredMs = meta.coveredMs
  return coveredMs
}

/** Opens a segment. The server may have given it its final name since the directory was read. */
export const openSegment = (path: string): { file: number; path: string } => {
  try {
    return { file: openSync(path, 'r'), path }
  } catch (error) {
    const isMissing = (error as { code?: string }).code === 'ENOENT'
    if (isMissing && path.endsWith('.open')) return openSegment(path.replace(/\.open$/, '.seg'))
    throw new ArchiveDamaged(isMissing ? `${path} is missing` : `${path} cannot be read: ${(error as Error).message}`)
  }
}

/** The blocks of one segment, without their frames. The open one may end within a block: it is being written. */
export function* blockMetas(given: string): Generator<FoundBlock> {
  const { file, path } = openSegment(given)
  try {
    const { size } = fstatSync(file)
    for (let at = 0; at < size; ) {
      const found = readBlockMeta(file, at)
      if (found.end > size) throw new NotABlock(`it ends within the block at byte ${at}`)
      yield found
      at = found.end
    }
  } catch (error) {
    if (!(error instanceof NotABlock)) throw error
    if (!path.endsWith('.open')) throw new ArchiveDamaged(`${path} is damaged: ${error.message}`)
  } finally {
    closeSync(file)
  }
}

/** The paths of the segments from number `first` on. Throws if one is missing. */
export const segmentPaths = ({ dir, lastSegment }: KnownRun, first: number): string[] => {
  const found: string[] = []
  for (let number = first; number <= lastSegment; number++) {
    const path = segmentPath(dir, number)
    if (path === undefined) throw new ArchiveDamaged(`${pathsOfRun(dir).segment(number)} is missing`)
    found.push(path)
  }
  return found
}

/** Throws unless `next` follows `last`, the block before it. */
export const requireNext = (path: string, last: BlockMeta | undefined, next: BlockMeta): void => {
  const follows =
    last === undefined || next.generation === last.generation + 1
      ? next.first === 1
      : next.generation === last.generation &&
        next.first === last.first + last.count &&
        next.salts[0] === last.salts[0] &&
        next.salts[1] === last.salts[1]
  if (!follows) throw new ArchiveDamaged(`${path} does not continue the segment before it: frames are missing`)
}
