import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { OperatorError } from '../../../core/operator-error.ts'
import { openNew } from '../../../files/open-new.ts'
import { syncPath } from '../../../files/sync.ts'

// The files of an archive:
//
//     archive.json         format, and the store that it belongs to
//     archive.lock         locked by the server that writes it
//     heartbeat            until when the archive is complete; overwritten in place, not synced
//     run-000001/          a chain of segments and bases without a gap
//       run.json           why it began, and when
//       00000001.seg       blocks of frames: see block.ts. The one that is being written is called .open
//       base-00000001.db   a copy of the database file, and base-00000001.json what belongs to it
//       end.json           why it ended, and where; every run but the newest has one
//
// Every file but the heartbeat and the open segment is written under another name, synced, and then renamed. Every file has a
// checksum or a digest, and is read only if it has the shape that is written here.

export const archiveFormat = 2

export interface Manifest {
  /** A random text. */
  id: string
  format: number
  /** See `storeIdOf`. */
  store: string
  createdAtMs: number
}

export interface RunStart {
  startedAtMs: number
  /** The reason for which it did not continue the run before. */
  reason: string
}

/** A point in the commits of a run. */
export interface Position {
  segment: number
  generation: number
  frame: number
  /** See `chainOf`: the same point of another run has another one. */
  chain: string
}

/** The beginning of a run. Every block names the one before it, so a block that is lost or of another run is noticed. */
export const startOf = (archive: string, run: number): Position => ({
  ...{ segment: 0, generation: 0, frame: 0, chain: `${archive}-${run}` },
})

export const isBefore = (a: Position, b: Position): boolean =>
  a.generation < b.generation || (a.generation === b.generation && a.frame < b.frame)

/** The reach of a run. A reader that finds less knows that something is missing. */
export interface RunReach {
  /** The last commit. */
  last: Position
  /** The number of the newest base; 0 if there is none. */
  base: number
  /** Every write that was answered before this time is in the run. The clock has run steadily since the last commit. */
  coveredMs: number
  /** The same time for the clock as it was set after that; null if it was not set. */
  later: [fromMs: number, toMs: number] | null
}

export interface RunEnd extends RunReach {
  reason: string
}

export interface Heartbeat extends RunReach {
  run: number
  /** See ClockWatch. */
  driftMs: number
}

export interface BaseInfo {
  /** The first segment of the generation in which the copy began. A restore replays from there. */
  firstSegment: number
  startedAtMs: number
  /** The time of the clock that retention trusts. */
  keptFromMs: number
  pageBytes: number
  bytes: number
  sha256: string
  /** The copy was made while pages changed. It is a database only together with all frames up to here. */
  end: Position
  /** A restore can use it from this time on, by the clock as it was at `end`. */
  usableFromMs: number
}

type Check = (value: unknown) => boolean
/** The checks of the members of an object, which has no others. */
export type Shape<T> = { [Name in keyof T]-?: Check }

export const isText: Check = (value) => typeof value === 'string'
export const isTime: Check = (value) => typeof value === 'number' && Number.isFinite(value)
export const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
export const isPair =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length === 2 && value.every(check)
export const hasShape =
  <T>(shape: Shape<T>): Check =>
  (value) => {
    if (typeof value !== 'object' || value === null) return false
    const checks = Object.entries<Check>(shape)
    const given = value as Record<string, unknown>
    return Object.keys(given).length === checks.length && checks.every(([name, check]) => check(given[name]))
  }

export const position = hasShape<Position>({ segment: isCount, generation: isCount, frame: isCount, chain: isText })
const reach = {
  last: position,
  base: isCount,
  coveredMs: isTime,
  later: (value: unknown) => value === null || isPair(isTime)(value),
}
const manifest: Shape<Manifest> = { id: isText, format: isCount, store: isText, createdAtMs: isTime }
const start: Shape<RunStart> = { startedAtMs: isTime, reason: isText }
const end: Shape<RunEnd> = { ...reach, reason: isText }
const heartbeat: Shape<Heartbeat> = { ...reach, run: isCount, driftMs: isTime }
const base: Shape<BaseInfo> = {
  ...{ firstSegment: isCount, startedAtMs: isTime, keptFromMs: isTime, pageBytes: isCount, bytes: isCount },
  ...{ sha256: isText, end: position, usableFromMs: isTime },
}
export const shapes = { manifest, start, end, heartbeat, base }

export const pathsOf = (dir: string) => ({
  manifest: join(dir, 'archive.json'),
  heartbeat: join(dir, 'heartbeat'),
  run: (run: number) => join(dir, `run-${String(run).padStart(6, '0')}`),
})

const numbered = (number: number): string => String(number).padStart(8, '0')

export const pathsOfRun = (runDir: string) => ({
  start: join(runDir, 'run.json'),
  end: join(runDir, 'end.json'),
  segment: (number: number) => join(runDir, `${numbered(number)}.seg`),
  openSegment: (number: number) => join(runDir, `${numbered(number)}.open`),
  base: (number: number) => join(runDir, `base-${numbered(number)}.db`),
  baseInfo: (number: number) => join(runDir, `base-${numbered(number)}.json`),
})

const numbersOf = (dir: string, pattern: RegExp): number[] =>
  readdirSync(dir)
    .map((name) => pattern.exec(name)?.[1])
    .filter((number) => number !== undefined)
    .map(Number)
    .sort((a, b) => a - b)

export const runsOf = (dir: string): number[] => numbersOf(dir, /^run-(\d{6,})$/)
export const basesOf = (runDir: string): number[] => numbersOf(runDir, /^base-(\d{8,})\.json$/)
export const baseCopiesOf = (runDir: string): number[] => numbersOf(runDir, /^base-(\d{8,})\.db$/)
export const segmentsOf = (runDir: string): number[] => [...new Set(numbersOf(runDir, /^(\d{8,})\.(?:seg|open)$/))]

/** The path of a segment, whatever its name is; undefined if it is not there. */
export const segmentPath = (runDir: string, number: number): string | undefined => {
  const paths = pathsOfRun(runDir)
  return [paths.segment(number), paths.openSegment(number)].find((path) => existsSync(path))
}

/** A part of the archive that cannot be used. The message names the file. */
export class ArchiveDamaged extends OperatorError {
  override readonly name = 'ArchiveDamaged'
}

/** The text of a file: JSON with a checksum over itself. */
const encode = (value: object): string => {
  const checksum = Bun.hash.xxHash3(JSON.stringify(value)).toString(16)
  return JSON.stringify({ ...value, checksum })
}

/** Undefined unless the text is exactly what `encode` makes of a value of this shape. */
const decode = <T>(text: string, shape: Shape<T>): T | undefined => {
  try {
    const { checksum, ...value } = JSON.parse(text)
    return encode(value) === text && hasShape(shape)(value) ? (value as T) : undefined
  } catch {
    return undefined
  }
}

/** Undefined if there is no such file. */
export const readText = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw new OperatorError(`${path} cannot be read: ${(error as Error).message}`)
  }
}

/** Undefined if there is no such file. Throws if it is not as `writeJson` writes it. */
export const readJson = <T>(path: string, shape: Shape<T>): T | undefined => {
  const text = readText(path)
  if (text === undefined) return undefined
  const value = decode(text.replace(/\n$/, ''), shape)
  if (value === undefined) throw new ArchiveDamaged(`${path} is damaged: its checksum or its shape is wrong`)
  return value
}

/** Writes the file durably: after a crash it is whole or not there. */
export const writeJson = (path: string, value: object): void => {
  const temporary = `${path}.tmp`
  const file = openNew(temporary, 0o600)
  try {
    writeAll(file, [Buffer.from(`${encode(value)}\n`)])
    fsyncSync(file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
  syncPath(dirname(path))
}

export const writeAll = (file: number, parts: readonly Uint8Array[]): number => {
  let written = 0
  for (const part of parts) {
    for (let at = 0; at < part.length; ) at += writeSync(file, part, at, part.length - at)
    written += part.length
  }
  return written
}

export const makeRunDir = (dir: string, run: number): string => {
  const runDir = pathsOf(dir).run(run)
  mkdirSync(runDir, { mode: 0o700 })
  syncPath(dir)
  return runDir
}

const heartbeatBytes = 512

export const openHeartbeat = (dir: string): number => {
  const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants
  return openSync(pathsOf(dir).heartbeat, O_RDWR | O_CREAT | (O_NOFOLLOW ?? 0), 0o600)
}

/** Overwrites the file in place, without a sync: a lost or torn heartbeat only makes the archive end earlier. */
export const writeHeartbeat = (file: number, heartbeat: Heartbeat): void => {
  writeSync(file, Buffer.from(`${encode(heartbeat)}\n`.padEnd(heartbeatBytes)), 0, heartbeatBytes, 0)
}

/** Empties the heartbeat: its run is not there any more. */
export const clearHeartbeat = (file: number): void => ftruncateSync(file, 0)

export const readHeartbeat = (dir: string): Heartbeat | undefined => {
  const [line = ''] = readText(pathsOf(dir).heartbeat)?.split('\n') ?? []
  return decode(line, shapes.heartbeat)
}
