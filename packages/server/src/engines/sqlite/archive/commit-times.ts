import { closeSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { driftOf } from './clock-watch.ts'
import { type Salts, walHeaderBytes } from './wal-format.ts'

// When each commit began, for restores to a time. The writer writes one slot after each commit, before any of its requests
// is answered, into a file of the data directory that it uses as a ring. It is not synced: the slots survive the end of the
// process, and the archive copies them within a second. What a power cut takes is a time that the archive does not
// know, and says so.
//
// The time is read before the transaction begins. By then every request of the commit has arrived, and none is answered.
// So one number decides for every moment on which side of it the commit is.

export interface CommitTime extends Salts {
  /** Counts slots. A number that is missing is a commit whose time is not known. */
  seq: number
  beganMs: number
  /** See ClockWatch. */
  driftMs: number
  /** Frames in the WAL after the commit. Commits of other processes since then are counted too. */
  frames: number
}

export type Beginning = Pick<CommitTime, 'beganMs' | 'driftMs'>

const slotBytes = 40
const slots = 65_536
const namePrefix = 'archive-times-'

/** A name for the file of this start. */
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
    // A writer thread that was started again goes on behind the slots of the one before.
    this.#seq = readAllSlots(this.#file).at(-1)?.seq ?? 0
    this.#walPath = `${databasePath}-wal`
  }

  /** Before a transaction. */
  begin(): Beginning {
    const beganMs = this.now()
    return { beganMs, driftMs: driftOf(beganMs) }
  }

  /** After a commit, before its answers. `frames` is undefined if the length of the WAL is not known. */
  note({ beganMs, driftMs }: Beginning, frames: number | undefined): void {
    this.#seq++
    if (frames === undefined) return
    try {
      // It stays the same file as long as a connection is open. SQLite's locks are not on this file: it may be closed.
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
      // A full disk, for example. The commit itself is good.
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
 * The slots from number `from` on, in order. Those that are missing are passed over; the numbers show it. The writer goes on
 * meanwhile, and the system does not read several pages at one moment: a slot that seems to be missing is looked for again,
 * because it was written before the ones behind it.
 */
const readSlotsFrom = (file: number, from: number): CommitTime[] => {
  const found: CommitTime[] = []
  const bytes = Buffer.alloc(slotsAtOnce * slotBytes)
  let looksAgain = false
  for (let next = from; ; ) {
    const place = next % slots
    const count = Math.min(slotsAtOnce, slots - place)
    const length = readSync(file, bytes, 0, count * slotBytes, place * slotBytes)
    const newer = slotsIn(bytes.subarray(0, length)).filter(({ seq }) => seq >= next)
    if (newer.length === 0) return found
    const isGap = newer[0]!.seq !== next
    if (isGap && !looksAgain) {
      looksAgain = true
      continue
    }
    looksAgain = false
    if (isGap) next = newer[0]!.seq
    for (const slot of newer) {
      // A gap, or the ring went round while it was read: what follows is read again.
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

  /** Those since the last call. */
  read(): CommitTime[] {
    // The oldest one is read first. Those behind it are read in order, as everything after.
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

/** What earlier starts left in the data directory, oldest first. `current` is the file of this start. */
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

/** All files of times in the data directory: a server without an archive has no use for them. */
export const removeTimes = (dataDir: string): void => {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(namePrefix)) rmSync(join(dataDir, name), { force: true })
  }
}
