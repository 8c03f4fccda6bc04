import type { CheckpointFault } from '../connection.ts'
import { type Command, decodeGroup, encodeOutcomes } from './command.ts'
import { WriteConnection } from './write-connection.ts'

// The writer thread. Every command that has arrived when a commit ends is in the next commit, so the writer does not wait
// for the serving thread to notice that it is free.

declare const self: Worker

export type ToWriter = { open: string; faults?: string } | { group: string } | { checkpoint: true } | { close: true }

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
  | ({ outcomes: string } & WalState & ConnectionEvents)
  | ({ checkpointed: true; fault?: CheckpointFault } & WalState)
  | { closed: true }

let connection: WriteConnection
let waiting: Command[] = []
let checkpointDue = false
let scheduled = false

const reply = (message: FromWriter): void => self.postMessage(message)

let lastState: WalState = { walPages: 0, pendingPages: 0 }

/** A commit is answered even if SQLite cannot tell the size of its WAL. */
const walState = (): WalState => {
  try {
    const { log, checkpointed } = connection.walPages()
    lastState = { walPages: log, pendingPages: log - checkpointed }
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
  const commands = waiting
  waiting = []
  const outcomes = connection.commit(commands)
  reply({ outcomes: encodeOutcomes(outcomes), ...walState(), ...takeEvents() })
}

const checkpoint = (): void => {
  checkpointDue = false
  const fault = connection.failure === undefined ? connection.checkpoint() : undefined
  reply({ checkpointed: true, ...walState(), fault })
}

// Messages that have already arrived are delivered before an immediate runs.
const schedule = (): void => {
  if (scheduled) return
  scheduled = true
  setImmediate(() => {
    scheduled = false
    if (waiting.length > 0) commitWaiting()
    if (checkpointDue) checkpoint()
  })
}

self.onmessage = (event: MessageEvent<ToWriter>) => {
  const message = event.data
  if ('group' in message) {
    for (const command of decodeGroup(message.group)) waiting.push(command)
    schedule()
  } else if ('checkpoint' in message) {
    checkpointDue = true
    schedule()
  } else if ('open' in message) {
    try {
      connection = new WriteConnection(message.open, message.faults)
      reply({ opened: true })
    } catch (error) {
      reply({ refused: (error as Error).message })
    }
  } else {
    checkpointDue = false
    connection.close()
    reply({ closed: true })
  }
}
