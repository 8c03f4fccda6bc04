import { CommitTimeWriter } from '../archive/commit-times.ts'
import { threadClock } from '../archive/server-clock.ts'
import type { CheckpointFault } from '../connection.ts'
import { type Command, decodeGroup, encodeOutcomes } from './command.ts'
import { WriteConnection } from './write-connection.ts'

// The writer thread. Every command that has arrived when a commit ends is in the next commit, so the writer does not wait
// for the serving thread to notice that it is free.

declare const self: Worker

/** With an archive the WAL is made so small by the first commit after a reset: see checkpoint-policy.ts. */
const archivedWalBytes = 4 * 1024 * 1024

/** With an archive: where the times of commits are written. `clock`: see threadClock. */
export interface CommitTimesPlace {
  path: string
  clock: string | undefined
}

export type ToWriter =
  | { open: string; faults?: string; times?: CommitTimesPlace; timesCommits: boolean }
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
  /** Those not in the database file yet. */
  pendingPages: number
}

export type FromWriter =
  | { opened: true }
  | { refused: string }
  | ({ outcomes: string; commitMs?: number } & WalState & ConnectionEvents)
  | ({ checkpointed: true; fault?: CheckpointFault } & WalState)
  | { closed: true }

let connection: WriteConnection
/** Only for the metrics. */
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
  // All its requests have arrived, and none is answered: what the archive has to know.
  const began = times?.begin()
  const startedAt = timesCommits ? performance.now() : 0
  const outcomes = connection.commit(waiting)
  const commitMs = timesCommits ? performance.now() - startedAt : undefined
  waiting = waiting.slice(outcomes.length)
  if (waiting.length > 0) schedule()
  const state = walState()
  if (began !== undefined) times!.note(began, isStateKnown ? state.walPages : undefined)
  reply({ outcomes: encodeOutcomes(outcomes), commitMs, ...state, ...takeEvents() })
}

const checkpoint = (truncates: boolean): void => {
  checkpointDue = undefined
  let fault = connection.failure === undefined ? connection.checkpoint() : undefined
  const mayTruncate = truncates && fault === undefined && connection.failure === undefined
  if (mayTruncate && walState().pendingPages === 0) fault = connection.truncateWal()
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
    connection.close()
    reply({ closed: true })
  }
}
