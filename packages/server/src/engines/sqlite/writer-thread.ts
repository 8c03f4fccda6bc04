import { type Command, type CommandFailure, decodeGroup, encodeOutcomes } from './command.ts'
import { Writer } from './writer.ts'

// The writer's thread. All that has arrived when a commit ends becomes the next one, so the writer never waits for
// the serving thread to notice that it is free.

declare const self: Worker

export type ToWriter = { open: string } | { group: string } | { checkpoint: true } | { close: true }

export type FromWriter =
  | { opened: true }
  | { refused: string }
  | { outcomes: string; log: number; pending: number }
  | { checkpointed: true; log: number; pending: number; fault?: CommandFailure['cause'] }
  | { closed: true }

let writer: Writer
let waiting: Command[] = []
let checkpointDue = false
let scheduled = false

const reply = (message: FromWriter): void => self.postMessage(message)

const logState = (): { log: number; pending: number } => {
  const { log, checkpointed } = writer.logPages()
  return { log, pending: log - checkpointed }
}

const commitWaiting = (): void => {
  const commands = waiting
  waiting = []
  const outcomes = writer.commit(commands)
  reply({ outcomes: encodeOutcomes(outcomes), ...logState() })
}

const checkpoint = (): void => {
  checkpointDue = false
  try {
    writer.checkpoint()
    reply({ checkpointed: true, ...logState() })
  } catch (error) {
    reply({ checkpointed: true, log: 0, pending: 0, fault: String(error) })
  }
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
      writer = new Writer(message.open)
      reply({ opened: true })
    } catch (error) {
      reply({ refused: (error as Error).message })
    }
  } else {
    checkpointDue = false
    writer.close()
    reply({ closed: true })
  }
}
