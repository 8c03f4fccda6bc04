import { threadClock } from '../archive/clock-watch.ts'
import { CommitTimeWriter } from '../archive/commit-times.ts'
import type { LogHead } from '../changes/change-log.ts'
import type { CheckpointFault } from '../connection.ts'
import { type Command, decodeGroup, encodeOutcomes } from './command.ts'
import { WriteConnection } from './write-connection.ts'

// This is the writer thread. Every command that has arrived when a commit ends is in the next commit, so the writer does not
// wait for the serving thread to notice that it is free.

declare const self: Worker

/** The first commit after a reset makes the WAL this small if there is an archive: see checkpoint-policy.ts. */
const archivedWalBytes = 4 * 1024 * 1024

/** The file for the times of commits, with an archive. `clock`: see threadClock. */
export interface CommitTimesFile {
  path: string
  clock: string | undefined
}

export type ToWriter =
  | { open: string; faults?: string; times?: CommitTimesFile; timesCommits: boolean }
  | { group: string }
  | { checkpoint: true; truncates: boolean }
  | { close: true }

interface ConnectionEvents {
  /** The connection was closed and opened again. */
  reopened?: true
  /** The commit met an I/O error. Nothing is written after it. */
  failure?: string
}

interface WalState {
  walPages: number
  /** The pages that are not in the database file yet. */
  pendingPages: number
}

export type FromWriter =
  | { opened: true }
  | { refused: string }
  | ({ outcomes: string; commitMs?: number; grown?: LogHead[]; added: number } & WalState & ConnectionEvents)
  | ({ checkpointed: true; fault?: CheckpointFault } & WalState)
  | { closed: true }

let connection: WriteConnection
/** Set only for the metrics. */
let timesCommits = false
let times: CommitTimeWriter | undefined
let waiting: Command[] = []
let checkpointDue: { truncates: boolean } | undefined
let scheduled = false

const reply = (message: FromWriter): void => self.postMessage(message)

let lastState: WalState = { walPages: 0, pendingPages: 0 }
let isStateKnown = false

/** A commit is answered even if SQLite cannot tell the size of its WAL. */
const walState = (): WalState => {
  isStateKnown = false
  try {
    const { log, checkpointed } = connection.walPages()
    lastState = { walPages: log, pendingPages: log - checkpointed }
    isStateKnown = true
  } catch {
    // The next commit asks again.
  }
  return lastState
}

const takeEvents = (): ConnectionEvents | undefined => {
  if (connection.failure !== undefined) return { failure: connection.failure }
  if (!connection.reopened) return undefined
  connection.reopened = false
  return { reopened: true }
}

const commitWaiting = (): void => {
  // The archive needs this time: all requests of the commit have arrived, and none is answered.
  const began = times?.begin()
  const startedAt = timesCommits ? performance.now() : 0
  const outcomes = connection.commit(waiting)
  const commitMs = timesCommits ? performance.now() - startedAt : undefined
  waiting = waiting.slice(outcomes.length)
  if (waiting.length > 0) schedule()
  const state = walState()
  if (began !== undefined) times!.note(began, isStateKnown ? state.walPages : undefined)
  const [grown, added] = [connection.takeGrown(), connection.takeAdded()]
  reply({ outcomes: encodeOutcomes(outcomes), commitMs, grown, added, ...state, ...takeEvents() })
}

const checkpoint = (truncates: boolean): void => {
  checkpointDue = undefined
  let fault = connection.failure === undefined ? connection.db.checkpoint() : undefined
  const mayTruncate = truncates && fault === undefined && connection.failure === undefined
  if (mayTruncate && walState().pendingPages === 0) fault = connection.db.truncateWal()
  reply({ checkpointed: true, ...walState(), fault })
}

// Messages that have already arrived are delivered before an immediate runs.
const schedule = (): void => {
  if (scheduled) return
  scheduled = true
  setImmediate(() => {
    scheduled = false
    if (waiting.length > 0) commitWaiting()
    if (checkpointDue !== undefined) checkpoint(checkpointDue.truncates)
  })
}

self.onmessage = (event: MessageEvent<ToWriter>) => {
  const message = event.data
  if ('group' in message) {
    for (const command of decodeGroup(message.group)) waiting.push(command)
    schedule()
  } else if ('checkpoint' in message) {
    checkpointDue = message
    schedule()
  } else if ('open' in message) {
    try {
      connection = new WriteConnection(message.open, message.faults, message.times && archivedWalBytes)
      timesCommits = message.timesCommits
      if (message.times !== undefined) {
        times = new CommitTimeWriter(message.times.path, message.open, threadClock(message.times.clock))
      }
      reply({ opened: true })
    } catch (error) {
      reply({ refused: (error as Error).message })
    }
  } else {
    checkpointDue = undefined
    connection.db.close()
    reply({ closed: true })
  }
}
