import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { OperatorError } from '../../../core/operator-error.ts'
import { readManifest } from './archive-directory.ts'
import {
  ArchiveDamaged,
  type BaseInfo,
  baseCopiesOf,
  basesOf,
  pathsOf,
  pathsOfRun,
  type RunEnd,
  type RunReach,
  type RunStart,
  readHeartbeat,
  readJson,
  runsOf,
  segmentsOf,
  shapes,
} from './archive-files.ts'
import { type Block, type FoundBlock, NotABlock, readBlock, readBlockMeta } from './block.ts'

// The contents of an archive, for restores and checks. A server may be writing it meanwhile.

export interface KnownRun {
  number: number
  dir: string
  start: RunStart | undefined
  end: RunEnd | undefined
  /** Its reach, by its end or by the heartbeat; undefined if neither is there. */
  reach: RunReach | undefined
  /** The last run may be a copy that was made while the server wrote: then its end is not there. */
  isNewest: boolean
  /** The bases in order, without those whose description is damaged. */
  bases: (BaseInfo & { number: number })[]
  /** The numbers of the segments that are there, in order. */
  segments: number[]
}

export interface KnownArchive {
  runs: KnownRun[]
  /** Files that are damaged or missing, as far as their descriptions tell. */
  findings: string[]
  /** Files that a copy may lack if it was made while the server wrote. */
  notes: string[]
}

export const readArchive = (dir: string): KnownArchive => {
  if (!existsSync(dir)) throw new OperatorError(`there is no directory ${dir}`)
  if (readManifest(dir) === undefined) throw new OperatorError(`${dir} has no archive: archive.json is not there`)
  const findings: string[] = []
  const notes: string[] = []
  const paths = pathsOf(dir)
  const heartbeat = readHeartbeat(dir)
  const numbers = runsOf(dir)
  const newest = numbers.at(-1) ?? 0
  if (heartbeat === undefined) {
    notes.push(`${paths.heartbeat} is missing or damaged: the newest run ends with its last commit`)
  } else if (heartbeat.run > newest) findings.push(`${paths.run(heartbeat.run)} is missing`)
  for (const number of missingIn(numbers, numbers[0], newest)) findings.push(`${paths.run(number)} is missing`)
  const readPart = <T>(read: () => T | undefined): T | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      findings.push(error.message)
      return undefined
    }
  }
  const runs = numbers.map((number): KnownRun => {
    const runDir = paths.run(number)
    const files = pathsOfRun(runDir)
    const isNewest = number === newest
    const start = readPart(() => required(files.start, readJson(files.start, shapes.start)))
    const end = readPart(() => {
      const known = readJson(files.end, shapes.end)
      return isNewest ? known : required(files.end, known)
    })
    const reach = end ?? (heartbeat?.run === number ? heartbeat : undefined)
    const found = basesOf(runDir)
    // Only the oldest run can have lost bases to its age.
    const oldestBase = number === numbers[0] ? found[0] : 1
    const missing = new Set(missingIn(found, oldestBase, reach?.base ?? 0))
    const copies = new Set(baseCopiesOf(runDir))
    for (const base of copies) if (base < (found[0] ?? 0)) missing.add(base)
    for (const base of missing) {
      const isOfCopy = isNewest && end === undefined && base > (found.at(-1) ?? 0) && !copies.has(base)
      const said = isOfCopy ? notes : findings
      said.push(`${files.baseInfo(base)} is missing`)
    }
    const bases = found.flatMap((base) => {
      const info = readPart(() => readJson(files.baseInfo(base), shapes.base))
      return info === undefined ? [] : [{ ...info, number: base }]
    })
    return { number, dir: runDir, start, end, reach, isNewest, bases, segments: segmentsOf(runDir) }
  })
  return { runs, findings, notes }
}

/** The first number of each hole in `numbers`, which are to go from `first`, if it is known, to `last`. */
const missingIn = (numbers: readonly number[], first: number | undefined, last: number): number[] => {
  const missing: number[] = []
  let next = first ?? last
  for (const number of numbers) {
    if (number > next) missing.push(next)
    next = number + 1
  }
  if (next <= last && last > 0) missing.push(next)
  return missing
}

const required = <T>(path: string, value: T | undefined): T => {
  if (value === undefined) throw new ArchiveDamaged(`${path} is missing`)
  return value
}

/** Opens a segment. The server may have given it its final name since the directory was read. */
const openSegment = (runDir: string, number: number): { file: number; path: string } => {
  const paths = pathsOfRun(runDir)
  // The segment may get its final name in between. A copy may have an older state of it under the name of an open one.
  for (const path of [paths.segment(number), paths.openSegment(number), paths.segment(number)]) {
    try {
      return { file: openSync(path, 'r'), path }
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') continue
      throw new ArchiveDamaged(`${path} cannot be read: ${(error as Error).message}`)
    }
  }
  throw new ArchiveDamaged(`${paths.segment(number)} is missing`)
}

/**
 * Reads the blocks of a segment. An open segment may end within a block: it is being written, or the server ended. In any other
 * segment that is damage.
 */
function* readSegment<T extends { end: number }>(
  runDir: string,
  number: number,
  read: (file: number, at: number) => T,
): Generator<T> {
  const { file, path } = openSegment(runDir, number)
  const isOpen = path.endsWith('.open')
  let at = 0
  try {
    for (; at < fstatSync(file).size; ) {
      const found = read(file, at)
      if (found.end > fstatSync(file).size) throw new NotABlock(`it ends within the block at byte ${at}`, true)
      yield found
      at = found.end
    }
  } catch (error) {
    if (!(error instanceof NotABlock)) throw error
    if (!isOpen || !error.isCutOff) throw new ArchiveDamaged(`${path} is damaged: ${error.message}`)
  } finally {
    closeSync(file)
  }
  if (at === 0 && !isOpen) throw new ArchiveDamaged(`${path} is damaged: it has no whole block`)
}

/** The blocks of one segment. The hashes of their frames are not compared. */
export const blockMetas = (runDir: string, number: number): Generator<FoundBlock> =>
  readSegment(runDir, number, readBlockMeta)

/** The blocks of one segment, with their frames. */
export const wholeBlocks = (runDir: string, number: number): Generator<Block & { end: number }> =>
  readSegment(runDir, number, readBlock)
