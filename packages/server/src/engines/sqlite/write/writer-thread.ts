import type { CheckpointFault } from '../connection.ts'
import { type Command, decodeGroup, encodeOutcomes } from './command.ts'
import { WriteConnection } from './write-connection.ts'

// The writer's thread. All that has arrived when a commit ends becomes the next one, so the writer never waits for
// the serving thread to notice that it is free.

declare const self: Worker

export type ToWriter = { open: string; faults?: string } | { group: string } | { checkpoint: true } | { close: true }

interface WriterEvents {
  /** The connection was opened again. */
  reopened?: true
  /** The commit met an I/O error; nothing more is written. */
  failure?: string
}

export type FromWriter =
  | { opened: true }
  | { refused: string }
  | ({ outcomes: string; log: number; pending: number } & WriterEvents)
  | { checkpointed: true; log: number; pending: number; fault?: CheckpointFault }
  | { closed: true }

let connection: WriteConnection
let waiting: Command[] = []
let checkpointDue = false
let scheduled = false

const reply = (message: FromWriter): void => self.postMessage(message)

let lastState = { log: 0, pending: 0 }

/** What was committed is answered even if SQLite cannot say how long its WAL is. */
const logState = (): { log: number; pending: number } => {
  try {
    const { log, checkpointed } = connection.logPages()
    lastState = { log, pending: log - checkpointed }
  } catch {
    // The next commit asks again.
  }
  return lastState
}

const takeEvents = (): WriterEvents | undefined => {
  if (connection.failure !== undefined) return { failure: connection.failure }
  if (!connection.reopened) return undefined
  connection.reopened = false
  return { reopened: true }
}

const commitWaiting = (): void => {
  const commands = waiting
  waiting = []
  const outcomes = connection.commit(commands)
  reply({ outcomes: encodeOutcomes(outcomes), ...logState(), ...takeEvents() })
}

const checkpoint = (): void => {
  checkpointDue = false
  const fault = connection.failure === undefined ? connection.checkpoint() : undefined
  reply({ checkpointed: true, ...logState(), fault })
}

// Messages that are there already are delivered before an immediate runs.
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
