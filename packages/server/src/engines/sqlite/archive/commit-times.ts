import { closeSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { driftOf } from './clock-watch.ts'
import { type Salts, sameSalts, walHeaderBytes } from './wal-file.ts'

// The times at which commits began, for restores to a time. The writer writes one slot after each commit, before any of its
// requests is answered, into a file of the data directory that it uses as a ring. The file is not synced: the slots survive the
// end of the process, and the archive copies them within a second. After a power cut the last times may be missing; the archive
// notices that.
//
// The time is read before the transaction begins. By then every request of the commit has arrived, and none is answered. So one
// number says for every moment on which side of it the commit is.

export interface CommitTime extends Salts {
  /** Counts slots. A number that is missing is a commit whose time is not known. */
  seq: number
  beganMs: number
  /** See ClockWatch. */
  driftMs: number
  /** Frames in the WAL after the commit. Commits of other processes since then are counted too. */
  frames: number
}

type Beginning = Pick<CommitTime, 'beganMs' | 'driftMs'>

const slotBytes = 40
const slots = 65_536
const namePrefix = 'archive-times-'

/** Returns the name of the file of this start. */
export const timesName = (startedMs: number): string => `${namePrefix}${String(startedMs).padStart(15, '0')}`

const hashOf = (slot: Buffer): number => Bun.hash.crc32(slot.subarray(0, slotBytes - 4))

/** The writer's side. A slot that cannot be written is skipped: its number is missing then. */
export class CommitTimeWriter {
  readonly #file: number
  readonly #walPath: string
  readonly #header = Buffer.alloc(walHeaderBytes)
  readonly #slot = Buffer.alloc(slotBytes)
  #wal: number | undefined
  #seq = 0

  /** `now`: the server's clock. */
  constructor(
    path: string,
    databasePath: string,
    readonly now: () => number,
  ) {
    closeSync(openSync(path, 'a', 0o600))
    this.#file = openSync(path, 'r+')
    // A writer thread that was started again continues after the slots of the one before.
    this.#seq = readAllSlots(this.#file).at(-1)?.seq ?? 0
    this.#walPath = `${databasePath}-wal`
  }

  /** Call it before a transaction. */
  begin(): Beginning {
    const beganMs = this.now()
    return { beganMs, driftMs: driftOf(beganMs) }
  }

  /** Call it after a commit, before its requests are answered. `frames` is undefined if the length of the WAL is not known. */
  note({ beganMs, driftMs }: Beginning, frames: number | undefined): void {
    this.#seq++
    if (frames === undefined) return
    try {
      // The WAL stays the same file as long as a connection is open. SQLite's locks are not on this file, so it may be closed.
      this.#wal ??= openSync(this.#walPath, 'r')
      if (readSync(this.#wal, this.#header, 0, walHeaderBytes, 0) < walHeaderBytes) {
        // The WAL is empty: the commit wrote nothing, and nobody will look for its time.
        this.#seq--
        return
      }
      const slot = this.#slot
      slot.writeDoubleLE(this.#seq, 0)
      slot.writeDoubleLE(beganMs, 8)
      slot.writeUInt32LE(this.#header.readUInt32BE(16), 16)
      slot.writeUInt32LE(this.#header.readUInt32BE(20), 20)
      slot.writeUInt32LE(frames, 24)
      slot.writeDoubleLE(driftMs, 28)
      slot.writeUInt32LE(hashOf(slot), slotBytes - 4)
      writeSync(this.#file, slot, 0, slotBytes, (this.#seq % slots) * slotBytes)
    } catch {
      // The disk may be full, for example. The commit itself is good.
    }
  }
}

const decodeSlot = (bytes: Buffer): CommitTime | undefined => {
  if (bytes.readUInt32LE(slotBytes - 4) !== hashOf(bytes)) return undefined
  return {
    seq: bytes.readDoubleLE(0),
    beganMs: bytes.readDoubleLE(8),
    salt1: bytes.readUInt32LE(16),
    salt2: bytes.readUInt32LE(20),
    frames: bytes.readUInt32LE(24),
    driftMs: bytes.readDoubleLE(28),
  }
}

const slotsIn = (bytes: Buffer): CommitTime[] => {
  const found: CommitTime[] = []
  for (let at = 0; at + slotBytes <= bytes.length; at += slotBytes) {
    const slot = decodeSlot(bytes.subarray(at, at + slotBytes))
    if (slot !== undefined) found.push(slot)
  }
  return found
}

const readAllSlots = (file: number): CommitTime[] => {
  const bytes = Buffer.alloc(slots * slotBytes)
  return slotsIn(bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0))).sort((a, b) => a.seq - b.seq)
}

const slotsAtOnce = 256

/**
 * Reads the slots from number `from` on, in order, without those that are missing; the numbers show it. The writer continues
 * meanwhile, and the system does not read several pages at one moment. So a slot that seems to be missing is read again: it was
 * written before the slots after it.
 */
const readSlotsFrom = (file: number, from: number): CommitTime[] => {
  const found: CommitTime[] = []
  const bytes = Buffer.alloc(slotsAtOnce * slotBytes)
  let readsAgain = false
  for (let next = from; ; ) {
    const position = next % slots
    const count = Math.min(slotsAtOnce, slots - position)
    const length = readSync(file, bytes, 0, count * slotBytes, position * slotBytes)
    const newer = slotsIn(bytes.subarray(0, length)).filter(({ seq }) => seq >= next)
    if (newer.length === 0) return found
    const isGap = newer[0]!.seq !== next
    if (isGap && !readsAgain) {
      readsAgain = true
      continue
    }
    readsAgain = false
    if (isGap) next = newer[0]!.seq
    for (const slot of newer) {
      // There is a gap, or the ring was overwritten while it was read. The following slots are read again.
      if (slot.seq !== next) break
      found.push(slot)
      next++
    }
  }
}

/** The archive's side of one file. */
export class CommitTimeReader {
  readonly #file: number
  #next: number | undefined

  constructor(path: string) {
    this.#file = openSync(path, 'r')
  }

  /** Returns the times since the last call. */
  read(): CommitTime[] {
    // The oldest slot is read first. The following ones are read in order, like all later ones.
    this.#next ??= readAllSlots(this.#file)[0]?.seq ?? 1
    const found = readSlotsFrom(this.#file, this.#next)
    this.#next = (found.at(-1)?.seq ?? this.#next - 1) + 1
    return found
  }

  close(): void {
    closeSync(this.#file)
  }
}

interface EarlierTimes {
  paths: string[]
  /** A list for each start. */
  times: CommitTime[][]
}

/** Reads the files that earlier starts left in the data directory, oldest first. `current` is the file of this start. */
export const readEarlierTimes = (dataDir: string, current: string): EarlierTimes => {
  const names = readdirSync(dataDir)
    .filter((name) => name.startsWith(namePrefix) && name !== current)
    .sort()
  const paths = names.map((name) => join(dataDir, name))
  const times = paths.map((path) => {
    const reader = new CommitTimeReader(path)
    try {
      return reader.read()
    } finally {
      reader.close()
    }
  })
  return { paths, times }
}

/** Removes all files of times from the data directory: a server without an archive has no use for them. */
export const removeTimes = (dataDir: string): void => {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(namePrefix)) rmSync(join(dataDir, name), { force: true })
  }
}

/** The times of commits that are not archived yet, in the order of the commits. */
export class TimeQueue {
  #times: CommitTime[] = []
  #lastSeq = 0
  /** The time of the last slot before one that is missing. */
  #unsureFromMs: number | undefined

  /** `isOther`: the numbers need not continue those that were added before. They may be of another start of the server. */
  add(times: CommitTime[], isOther = false): void {
    if (isOther && times.length > 0) this.#lastSeq = times[0]!.seq - 1
    for (const time of times) {
      if (time.seq !== this.#lastSeq + 1) this.#unsureFromMs ??= this.#times.at(-1)?.beganMs ?? 0
      this.#lastSeq = time.seq
      this.#times.push(time)
    }
  }

  /** Call it before the times of this start of the server are added. */
  restartNumbers(): void {
    this.#lastSeq = 0
  }

  /** Returns the highest frame of this generation up to which the writer has committed, and so synced. */
  framesOf(salts: Salts): number {
    for (let i = this.#times.length - 1; i >= 0; i--) {
      if (sameSalts(this.#times[i]!, salts)) return this.#times[i]!.frames
    }
    return 0
  }

  /** Returns the time at which the commit that ends with this frame began. Call it in the order of the commits. */
  take(salts: Salts, frame: number): Beginning | undefined {
    const at = this.#times.findIndex((time) => sameSalts(time, salts) && time.frames >= frame)
    if (at === -1) return undefined
    // The found time stays: a group that was committed in several transactions has one time.
    if (at > 0) this.#times.splice(0, at)
    return this.#times[0]!
  }

  /** Returns the time since which a slot is missing, if one is, only once. */
  takeUnsure(): number | undefined {
    const fromMs = this.#unsureFromMs
    this.#unsureFromMs = undefined
    return fromMs
  }

  /** Call it when nobody archives the commits of the remaining times. */
  clear(): void {
    this.#times = []
    this.#unsureFromMs = undefined
  }
}
