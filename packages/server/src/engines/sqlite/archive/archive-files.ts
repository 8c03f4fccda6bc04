import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
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
//       end.json           why it ended, if the server could still write that
//
// Every file but the heartbeat and the open segment is written under another name, synced, and then renamed.

export const archiveFormat = 1

export interface Manifest {
  /** Random. */
  id: string
  format: number
  /** See `storeIdOf`. */
  store: string
  createdAtMs: number
}

export interface RunStart {
  startedAtMs: number
  /** Why it did not continue the run before. */
  reason: string
}

export interface RunEnd {
  /** Every write that was answered before this time is in the run. */
  coveredMs: number
  reason: string
}

/** A point in the commits of a run. */
export interface Position {
  generation: number
  frame: number
}

export const isBefore = (a: Position, b: Position): boolean =>
  a.generation < b.generation || (a.generation === b.generation && a.frame < b.frame)

export interface BaseInfo {
  /** The first segment of the generation in which the copy began. A restore replays from there. */
  firstSegment: number
  startedAtMs: number
  pageBytes: number
  bytes: number
  sha256: string
  /** The copy was made while pages changed. It is a database only together with all frames up to here. */
  end: Position
  /** From this time on, a restore can use it. */
  usableFromMs: number
}

export interface Heartbeat {
  run: number
  segment: number
  position: Position
  coveredMs: number
}

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

/** Undefined if there is no such file. */
export const readJson = <T>(path: string): T | undefined => {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw new OperatorError(`${path} cannot be read: ${(error as Error).message}`)
  }
  try {
    return JSON.parse(text) as T
  } catch {
    throw new ArchiveDamaged(`${path} is damaged: it is not JSON`)
  }
}

/** Durable when it returns: whole or not there. */
export const writeJson = (path: string, value: unknown): void => {
  const temporary = `${path}.tmp`
  const file = openNew(temporary, 0o600)
  try {
    writeAll(file, [Buffer.from(`${JSON.stringify(value)}\n`)])
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

const heartbeatBytes = 256

export const openHeartbeat = (dir: string): number => {
  const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants
  return openSync(pathsOf(dir).heartbeat, O_RDWR | O_CREAT | (O_NOFOLLOW ?? 0), 0o600)
}

/** Overwrites the file in place, without a sync: a lost or torn heartbeat only makes the archive end earlier. */
export const writeHeartbeat = (file: number, heartbeat: Heartbeat): void => {
  const text = JSON.stringify(heartbeat)
  const line = `${text} ${Bun.hash.crc32(text).toString(16)}\n`
  writeSync(file, Buffer.from(line.padEnd(heartbeatBytes)), 0, heartbeatBytes, 0)
}

export const readHeartbeat = (dir: string): Heartbeat | undefined => {
  let file: number
  try {
    file = openSync(pathsOf(dir).heartbeat, 'r')
  } catch {
    return undefined
  }
  try {
    const bytes = Buffer.alloc(heartbeatBytes)
    const [line = ''] = bytes.toString('utf8', 0, readSync(file, bytes, 0, heartbeatBytes, 0)).split('\n')
    const space = line.lastIndexOf(' ')
    const text = line.slice(0, space)
    return Bun.hash.crc32(text).toString(16) === line.slice(space + 1) ? (JSON.parse(text) as Heartbeat) : undefined
  } finally {
    closeSync(file)
  }
}
