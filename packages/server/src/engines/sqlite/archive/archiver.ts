import { closeSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StoreRefused } from '../../../core/store-refused.ts'
import type { ArchiveState } from '../../../store/measures.ts'
import { ArchiveDirectory, noteDisk } from './archive-directory.ts'
import {
  ArchiveDamaged,
  basesOf,
  clearHeartbeat,
  type Heartbeat,
  isBefore,
  type Manifest,
  openHeartbeat,
  pathsOf,
  pathsOfRun,
  type RunEnd,
  type RunReach,
  readHeartbeat,
  readJson,
  runsOf,
  shapes,
  startOf,
  writeHeartbeat,
} from './archive-files.ts'
import { Bases, type BasesOptions } from './bases.ts'
import type { BlockMeta, Cut } from './block.ts'
import { ClockWatch, driftOf, type Reading } from './clock-watch.ts'
import { CommitTimeReader, readEarlierTimes, TimeQueue } from './commit-times.ts'
import { decideContinuation } from './continuation.ts'
import { closeTail, Run, type RunTail, writeRunEnd } from './run.ts'
import { type Fingerprint, fingerprintOf, readToken, removeToken, type Token, writeToken } from './token.ts'
import {
  cutAt,
  findCommits,
  frameBytesOf,
  isNextGeneration,
  sameSalts,
  type ValidFrames,
  WalFile,
  type WalHeader,
} from './wal-file.ts'

// Copies what is committed into the archive. ARCHITECTURE.md, "Going back in time", has the rules; the two that matter here:
//
// - A frame is archived before a checkpoint may complete its generation, because after that any commit may overwrite it:
//   `flush` is called before each checkpoint, and until it has returned a read transaction keeps the checkpoint from
//   going further than the frames that were there when it was called.
// - A frame is archived only when it is synced in the WAL. Otherwise a power cut could take it from the store, and the
//   archive would have a commit that never was. The times of commits tell what is synced. Commits of other processes have
//   none; for these the WAL is synced here.

/** `flush` waits this long for the time of a commit that is in the WAL already. */
const timeWaitMsMax = 100
const retryMsMin = 2_000
const retryMsMax = 30_000

export interface ArchiverOptions extends BasesOptions {
  /** The directory, if it could be taken before the store was opened. */
  held: ArchiveDirectory | undefined
  /** See `storeIdOf`. */
  store: string
  dataDir: string
  /** The file of commit times of this start, in the data directory. */
  timesName: string
  /** Raised by the serving thread when it goes on without the archive: see Archive. */
  skipped: Int32Array
}

/** The directory of the archive while this server holds it. */
interface Attachment {
  directory: ArchiveDirectory
  manifest: Manifest
  heartbeat: number
}

type ClockReading = Required<Reading> & { driftMs: number }

interface EarlierRun {
  number: number
  isEnded: boolean
  /** Undefined if it is damaged: `damage` says how. */
  tail: RunTail | undefined
  damage?: string
  /** The heartbeat, if it is of this run. */
  beat: Heartbeat | undefined
}

/** Says until when a run was complete. While nothing was committed, only the heartbeat went on. */
const reachOf = ({ position, coveredMs }: RunTail, beat: Heartbeat | undefined): RunReach => {
  const isAtEnd = beat !== undefined && !isBefore(position, beat.last) && !isBefore(beat.last, position)
  return isAtEnd ? pick(beat) : { last: position, base: beat?.base ?? 0, coveredMs, later: null }
}

const pick = ({ last, base, coveredMs, later }: RunReach): RunReach => ({ last, base, coveredMs, later })

export class Archiver {
  readonly #options: ArchiverOptions
  readonly #databasePath: string
  readonly #times = new TimeQueue()
  readonly #wal: WalFile
  readonly #bases: Bases
  readonly #timeReader: CommitTimeReader
  /** False while commits of earlier starts are archived. */
  #readsTimes = true
  #attached: Attachment | undefined
  #hadDirectory = false
  #run: Run | undefined
  #skippedSeen: number
  /** The last frame without a time at the last reading. Such frames are archived at the next one. */
  #untimedFrame = 0
  /** The time of the next attempt, by the monotonic clock. */
  #retryAt = 0
  #retryMs = retryMsMin
  /** The end of a run that could not be written yet. */
  #unwrittenEnd: { archive: string; run: number; end: RunEnd } | undefined
  readonly state: ArchiveState

  /** Create it when the store is open, before any checkpoint. Throws if the directory is that of another store. */
  constructor(options: ArchiverOptions) {
    this.#options = options
    const { held, dataDir, timesName, skipped, now } = options
    this.#databasePath = join(dataDir, 'cubby.db')
    this.#skippedSeen = Atomics.load(skipped, 0)
    this.state = {
      ...{ coveredMs: now(), failingSinceMs: null, cause: null, baseCause: null, run: 0 },
      ...{ gaps: 0, bases: 0, framesArchived: 0, bytesArchived: 0 },
    }
    this.#bases = new Bases(options, this.state)
    this.#wal = new WalFile(this.#databasePath)
    this.#timeReader = new CommitTimeReader(join(dataDir, timesName))
    try {
      this.#attach(held)
    } catch (error) {
      if (held !== undefined && error instanceof StoreRefused) throw error
      this.#fail(error)
    }
  }

  /** Runs four times a second. */
  tick(): void {
    if (this.#run === undefined) this.#retry()
    else {
      this.#attempt((run) => {
        this.#archive(run, 'tick')
        this.#bases.beginIfDue(run)
      })
    }
  }

  /** Archives everything that is committed. Does not throw: a failure is a gap. */
  flush(): void {
    this.#attempt((run) => this.#archive(run, 'flush'))
  }

  /** Copies a part of a base; false if no base is being copied. */
  stepBase(): boolean {
    if (!this.#bases.isCopying) return false
    this.#attempt((run) => this.#bases.step(run, () => this.#archive(run, 'flush')))
    return this.#bases.isCopying
  }

  /**
   * Archives the rest when the store is closed. The WAL has no name any more by then, unless another process has it open.
   * `closed`: see ToArchiveThread.
   */
  close(closed: Fingerprint | undefined): void {
    this.#attempt((run) => {
      const { position } = run
      this.#archive(run, 'flush')
      run.sealSegment()
      // Frames that are archived only now were committed by another process, and are not in the file that has this fingerprint.
      const isClosed = closed !== undefined && !isBefore(position, run.position)
      const token = this.#tokenOf(run)
      writeToken(
        this.#options.dataDir,
        isClosed ? { ...token, closed, last: closeTail(run.dir, run.position).last ?? null } : token,
      )
    })
    this.#bases.giveUp(this.#isLost)
    this.#releaseDirectory()
  }

  /** Runs `work` if there is a run. If it fails, the run ends here: nothing in it is tried again. */
  #attempt(work: (run: Run) => void): void {
    const run = this.#run
    if (run === undefined) return
    this.#orFail(() => {
      if (this.#isLost) throw new Error(`${this.#options.dir} was replaced, removed or unmounted`)
      work(run)
    })
  }

  #orFail(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fail(error)
    }
  }

  #takeDirectory(held: ArchiveDirectory | undefined): Attachment {
    const { dir, dataDir, store, now } = this.#options
    const directory = held ?? ArchiveDirectory.hold(dir, dataDir, this.#hadDirectory)
    try {
      const manifest = directory.claim(store, now())
      noteDisk(dir, dataDir)
      const heartbeat = openHeartbeat(dir)
      this.#hadDirectory = true
      return { directory, manifest, heartbeat }
    } catch (error) {
      directory.release()
      throw error
    }
  }

  get #isLost(): boolean {
    return this.#attached !== undefined && !this.#attached.directory.isThere
  }

  #releaseDirectory(): void {
    if (this.#attached === undefined) return
    closeSync(this.#attached.heartbeat)
    this.#attached.directory.release()
    this.#attached = undefined
  }

  /** Attaches to the directory. `held` is set at the start of the server, when its last run may be continued. */
  #attach(held: ArchiveDirectory | undefined): void {
    const { dir, dataDir, timesName, log } = this.#options
    this.#attached = this.#takeDirectory(held)
    this.#writeEnd()
    removeParts(dir)
    const earlierRun = this.#readEarlierRun()
    const { number, tail, beat } = earlierRun ?? {}
    const header = this.#wal.readHeader()
    const token = held && readToken(dataDir)
    const found = {
      archive: this.#attached.manifest.id,
      run: earlierRun && {
        ...{ number: earlierRun.number, ended: earlierRun.isEnded, last: tail?.last },
        isWhole: tail !== undefined && beat !== undefined && !isBefore(tail.position, beat.last),
        wasSetBack: tail !== undefined && token !== undefined && isBefore(tail.position, token.reached),
      },
      token,
      wal: header && { ...header, checksumAt: tail?.last && this.#wal.checksumAt(header, tail.last.frame) },
      fingerprint: fingerprintOf(this.#databasePath),
    }
    const damage = earlierRun?.damage
    const continuation = damage === undefined ? decideContinuation(found) : { gap: damage }
    const earlier = readEarlierTimes(dataDir, timesName)
    if ('gap' in continuation) {
      const { cause } = this.state
      const reason = cause === null ? continuation.gap : `the archive had failed: ${cause}`
      if (earlierRun !== undefined) {
        // If the archive had failed, the gap is known already.
        if (cause === null) {
          log('warn', 'the archive cannot continue where it ended: a gap, and a new base begins', { cause: reason })
          this.state.gaps++
        }
        this.#endEarlier(earlierRun, reason)
      }
      this.#begin(reason)
    } else {
      const run = Run.resume(dir, number!, tail!, header, continuation.from === 'lastFrame')
      run.clock = ClockWatch.resume(reachOf(tail!, beat), beat?.driftMs)
      this.#run = run
      this.state.run = run.number
      for (const times of earlier.times) this.#times.add(times, true)
      this.#times.restartNumbers()
      // Commits without a time were made by a command that ran meanwhile, or the machine has lost their times. The times of
      // this start are read after that: one of them would be taken for the commits before it.
      this.#readsTimes = false
      this.#archive(run, 'flush', run.clock.seen.coveredMs)
      this.#readsTimes = true
      // The token's members `closed` and `last` hold until something of the next WAL is archived: see decideContinuation.
      writeToken(dataDir, { ...token!, reached: run.position })
      if (run.base === undefined) this.#bases.begin(run)
    }
    for (const path of earlier.paths) rmSync(path, { force: true })
  }

  /** The last run of the archive, as an earlier start has left it. */
  #readEarlierRun(): EarlierRun | undefined {
    const { dir } = this.#options
    const number = runsOf(dir).at(-1)
    if (number === undefined) return undefined
    const runDir = pathsOf(dir).run(number)
    const heartbeat = readHeartbeat(dir)
    const found: EarlierRun = { number, isEnded: existsSync(pathsOfRun(runDir).end), tail: undefined, beat: undefined }
    if (heartbeat?.run === number) found.beat = heartbeat
    try {
      found.tail = closeTail(runDir, startOf(this.#attached!.manifest.id, number))
      const newest = basesOf(runDir).at(-1)
      if (newest !== undefined) readJson(pathsOfRun(runDir).baseInfo(newest), shapes.base)
    } catch (error) {
      if (!(error instanceof ArchiveDamaged)) throw error
      found.damage = error.message
      found.tail = undefined
    }
    return found
  }

  /**
   * Writes the end of the earlier run, before the heartbeat becomes that of another one. It keeps the reach that the heartbeat
   * promised, even if less is there now.
   */
  #endEarlier({ number, isEnded, tail, beat }: EarlierRun, reason: string): void {
    if (isEnded || (tail === undefined && beat === undefined)) return
    const isShort = tail === undefined || (beat !== undefined && isBefore(tail.position, beat.last))
    const reach = isShort ? pick(beat!) : reachOf(tail, beat)
    this.#unwrittenEnd = { archive: this.#attached!.manifest.id, run: number, end: { ...reach, reason } }
    this.#writeEnd()
  }

  #writeEnd(): void {
    const { dir } = this.#options
    const unwritten = this.#unwrittenEnd
    const isHere = unwritten?.archive === this.#attached!.manifest.id && existsSync(pathsOf(dir).run(unwritten.run))
    if (isHere) writeRunEnd(dir, unwritten.run, unwritten.end)
    this.#unwrittenEnd = undefined
  }

  /** Begins a run with the WAL as it is, and its first base. */
  #begin(reason: string): void {
    const { dir, dataDir, now, skipped } = this.#options
    this.#bases.makeRoom()
    this.#skippedSeen = Atomics.load(skipped, 0)
    this.#times.clear()
    this.#times.add(this.#timeReader.read(), true)
    this.#untimedFrame = 0
    const run = Run.begin(dir, this.#attached!.manifest.id, now(), reason)
    this.#run = run
    this.state.run = run.number
    this.#archive(run, 'flush')
    // A reset while the frames were read would have overwritten some of them, and the base would get older pages back.
    const header = this.#wal.readHeader()
    const isSame = run.header === undefined || (header !== undefined && sameSalts(header, run.header))
    if (run.generation > 1 || !isSame) throw new Error('the WAL was reset while a new base began')
    this.#bases.begin(run)
    writeToken(dataDir, this.#tokenOf(run))
  }

  #tokenOf({ number, position: reached }: Run): Token {
    return { archive: this.#attached!.manifest.id, run: number, closed: null, last: null, reached }
  }

  #retry(): void {
    const { log } = this.#options
    if (performance.now() < this.#retryAt) return
    this.#orFail(() => {
      if (this.#isLost) this.#releaseDirectory()
      if (this.#attached === undefined) this.#attach(undefined)
      else {
        this.#writeEnd()
        this.#begin(`the archive had failed: ${this.state.cause}`)
      }
      this.state.failingSinceMs = null
      this.state.cause = null
      log('info', 'the archive works again; a new base begins')
    })
  }

  /** Ends the run. The token is removed first: from now on checkpoints do not wait. */
  #fail(error: unknown): void {
    const { dir, dataDir, now, log } = this.#options
    const cause = (error as Error).message ?? String(error)
    try {
      removeToken(dataDir)
    } catch (failure) {
      log('error', 'the token of the archive could not be removed', { cause: String(failure) })
    }
    const run = this.#run
    const isLost = this.#isLost
    this.#run = undefined
    this.#bases.giveUp(isLost)
    this.state.baseCause = null
    if (this.state.failingSinceMs === null) {
      this.state.failingSinceMs = now()
      this.state.gaps++
      this.#retryMs = retryMsMin
      const next = 'Writes go on. Restores cannot reach the time from now until a new base is complete.'
      log('error', 'the archive failed', { cause, next })
    } else {
      if (this.state.cause !== cause) log('error', 'the archive still fails', { cause })
      this.#retryMs = Math.min(this.#retryMs * 2, retryMsMax)
    }
    this.state.cause = cause
    this.#retryAt = performance.now() + this.#retryMs
    if (run === undefined) return
    run.giveUp()
    const end = { ...run.reach, reason: cause }
    const unwritten = { archive: this.#attached!.manifest.id, run: run.number, end }
    if (isLost) {
      // The directory may now have another archive, with a run of the same number.
      this.#unwrittenEnd ??= unwritten
      this.#releaseDirectory()
      return
    }
    try {
      // Without a base, nothing can be restored from it.
      if (run.base === undefined) {
        clearHeartbeat(this.#attached!.heartbeat)
        rmSync(run.dir, { recursive: true, force: true })
      } else writeRunEnd(dir, run.number, end)
    } catch {
      this.#unwrittenEnd ??= unwritten
    }
  }

  /**
   * `tick` leaves frames without a time for the next look: usually the time follows at once. `flush` waits for it a little,
   * then takes the frames without it. `unsureFromMs`: times may be missing from then on.
   */
  #archive(run: Run, mode: 'tick' | 'flush', unsureFromMs?: number): void {
    for (;;) {
      const reading = this.#readClock()
      const header = this.#wal.readHeader()
      // There is no WAL yet, it was truncated, or its header is just being written.
      if (header === undefined) {
        if (this.#wal.isEmpty) this.#note(run, reading)
        return
      }
      this.#enter(run, header)
      const { bytes, isAll } = this.#wal.readFrames(header, run.frame + 1)
      const found = findCommits(bytes, header, run.checksum)
      // The frames were read before a checkpoint could go on without the archive, so they are valid.
      this.#requireNotSkipped()
      const seenMs = this.#options.now()
      const frames = this.#synced(run, header, found, mode)
      const isLast = isAll || found.frames === 0 || frames < found.frames
      if (frames > 0) {
        const cut = frames === found.frames ? found : cutAt(found, bytes, header, frames)
        this.#append(run, header, bytes, cut, isLast ? reading : undefined, seenMs, unsureFromMs)
      }
      if (!isLast) continue
      this.#note(run, reading)
      return
    }
  }

  #enter(run: Run, header: WalHeader): void {
    const known = run.header
    if (known !== undefined && sameSalts(known, header)) return
    if (known !== undefined && run.frame > 0 && !isNextGeneration(known, header)) {
      throw new Error('cubby.db-wal was reset by another program')
    }
    run.beginGeneration(header)
    this.#untimedFrame = 0
  }

  /** Returns the number of the found frames that are synced in the WAL. */
  #synced(run: Run, header: WalHeader, found: ValidFrames, mode: 'tick' | 'flush'): number {
    if (found.frames === 0) {
      if (this.#readsTimes) this.#times.add(this.#timeReader.read())
      return 0
    }
    const last = run.frame + found.frames
    let timed = this.#readTimes(header)
    const untilMs = performance.now() + (mode === 'flush' ? timeWaitMsMax : 0)
    while (timed < last && performance.now() < untilMs) {
      Bun.sleepSync(2)
      timed = this.#readTimes(header)
    }
    if (timed >= last) return found.frames
    if (mode === 'tick' && this.#untimedFrame <= Math.max(run.frame, timed)) {
      this.#untimedFrame = last
      const inTime = found.commits.filter((frame) => run.frame + frame + 1 <= timed)
      return inTime.length === 0 ? 0 : inTime.at(-1)! + 1
    }
    // These are commits of a command beside the server, or the last ones of a server that was killed.
    this.#wal.sync()
    return found.frames
  }

  #readTimes(header: WalHeader): number {
    if (this.#readsTimes) this.#times.add(this.#timeReader.read())
    return this.#times.framesOf(header)
  }

  #append(
    run: Run,
    header: WalHeader,
    bytes: Buffer,
    found: ValidFrames,
    reading: ClockReading | undefined,
    seenMs: number,
    unsureFromMs: number | undefined,
  ): void {
    let isUntimed = false
    const { coveredMs } = run.clock.seen
    if (reading !== undefined) run.clock.observe(reading)
    const cuts: Cut[] = []
    const commits = found.commits.map((commit): [number, number] => {
      const frame = run.frame + commit + 1
      const time = this.#times.take(header, frame)
      isUntimed ||= time === undefined
      const ms = time?.beganMs ?? seenMs
      const cut = run.clock.commit({ ms, driftMs: time?.driftMs })
      if (cut !== undefined) cuts.push([frame, ...cut])
      return [frame, ms]
    })
    const missingFromMs = this.#times.takeUnsure()
    const fromMs = isUntimed ? (unsureFromMs ?? missingFromMs) : missingFromMs
    const meta: BlockMeta = {
      generation: run.generation,
      previous: run.position.chain,
      salts: [header.salt1, header.salt2],
      first: run.frame + 1,
      count: found.frames,
      pageBytes: header.pageBytes,
      coveredMs: run.clock.seen.coveredMs,
      commits,
      cuts,
      unsure: fromMs === undefined ? null : [Math.max(fromMs, coveredMs), seenMs],
    }
    const frames = bytes.subarray(0, found.frames * frameBytesOf(header.pageBytes))
    run.append(meta, frames, found.checksum)
    this.state.framesArchived += found.frames
    this.state.bytesArchived += frames.length
  }

  #readClock(): ClockReading {
    const ms = this.#options.now()
    return { ms, driftMs: driftOf(ms) }
  }

  #note(run: Run, reading: ClockReading): void {
    run.clock.observe(reading)
    run.settle()
    this.state.coveredMs = reading.ms
    writeHeartbeat(this.#attached!.heartbeat, { run: run.number, ...run.reach, driftMs: reading.driftMs })
  }

  #requireNotSkipped(): void {
    const skipped = Atomics.load(this.#options.skipped, 0)
    if (skipped === this.#skippedSeen) return
    this.#skippedSeen = skipped
    throw new Error('the archive did not answer in time; a checkpoint went on without it')
  }
}

/** Removes files that a server which ended early has left half written. */
const removeParts = (dir: string): void => {
  for (const run of runsOf(dir)) {
    const runDir = pathsOf(dir).run(run)
    for (const name of readdirSync(runDir)) {
      if (name.endsWith('.tmp')) rmSync(join(runDir, name), { force: true })
    }
  }
}
