import type { LogLevel } from '../../../core/log.ts'
import { StoreRefused } from '../../../core/store-refused.ts'
import type { ArchiveState } from '../../../store/measures.ts'
import { ArchiveDirectory } from './archive-directory.ts'
import { Archiver, type ArchiverOptions } from './archiver.ts'
import { threadClock } from './clock-watch.ts'
import type { Fingerprint } from './token.ts'

// This thread runs the archiver. The files of the archive may be on a slow disk: nothing else waits for them.

declare const self: Worker

export type ArchiveThreadOptions = Omit<ArchiverOptions, 'held' | 'now' | 'log' | 'skipped'> & {
  /** Tests set it: see threadClock. */
  clock: string | undefined
  skipped: SharedArrayBuffer
}

export type ToArchiveThread =
  /** Take the directory, before the store is opened. */
  | { hold: string; dataDir: string }
  | { open: ArchiveThreadOptions }
  | { flush: number }
  /** `closed`: `cubby.db` just before this process closed its last connection; undefined if the store could not be opened. */
  | { close: true; closed?: Fingerprint }

export type FromArchiveThread =
  /** The replies to `hold` and `open`. `refused`: the server must not start. */
  | { opened: true }
  | { refused: string }
  | { flushed: number }
  | { state: ArchiveState }
  | { log: [LogLevel, string, Record<string, unknown> | undefined] }
  | { closed: true }

const tickEveryMs = 250

let held: ArchiveDirectory | undefined
let archiver: Archiver | undefined
let ticks: Timer | undefined

const reply = (message: FromArchiveThread): void => self.postMessage(message)
const report = (): void => reply({ state: archiver!.state })

/** Copies a part of a base. The disks are then free for others for as long as the step took. */
const stepBase = (): void => {
  if (archiver === undefined) return
  const startedMs = performance.now()
  const hasMore = archiver.stepBase()
  setTimeout(stepBase, hasMore ? performance.now() - startedMs + 1 : tickEveryMs)
}

/** A directory that cannot be used now may be usable later: the archiver tries again. */
const hold = (dir: string, dataDir: string): void => {
  try {
    held = ArchiveDirectory.hold(dir, dataDir)
  } catch (error) {
    if (error instanceof StoreRefused) throw error
  }
  reply({ opened: true })
}

const orRefuse = (work: () => void): void => {
  try {
    work()
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error
    reply({ refused: error.message })
  }
}

const open = ({ clock, skipped, ...options }: ArchiveThreadOptions): void => {
  archiver = new Archiver({
    ...options,
    held,
    now: threadClock(clock),
    skipped: new Int32Array(skipped),
    log: (level, message, fields) => reply({ log: [level, message, fields] }),
  })
  ticks = setInterval(() => {
    archiver!.tick()
    report()
  }, tickEveryMs)
  stepBase()
  report()
  reply({ opened: true })
}

self.onmessage = (event: MessageEvent<ToArchiveThread>) => {
  const message = event.data
  if ('hold' in message) orRefuse(() => hold(message.hold, message.dataDir))
  else if ('open' in message) orRefuse(() => open(message.open))
  else if ('flush' in message) {
    archiver!.flush()
    report()
    reply({ flushed: message.flush })
  } else {
    clearInterval(ticks)
    if (archiver === undefined) held?.release()
    else archiver.close(message.closed)
    archiver = undefined
    reply({ closed: true })
  }
}
