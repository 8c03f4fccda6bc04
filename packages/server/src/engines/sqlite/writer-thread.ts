import { type CommandFailure, decodeGroup, type Outcome } from './command.ts'
import { Writer } from './writer.ts'

// The writer's thread: takes groups of commands, one transaction each, and answers after the sync.

declare const self: Worker

export type ToWriter = { open: string } | { group: (string | number | null)[] } | { checkpoint: true } | { close: true }

export type FromWriter =
  | { opened: true }
  | { refused: string }
  | { outcomes: Outcome[]; log: number; pending: number }
  | { checkpointed: true; log: number; pending: number; fault?: CommandFailure['cause'] }
  | { closed: true }

let writer: Writer

const reply = (message: FromWriter): void => self.postMessage(message)

const logState = (): { log: number; pending: number } => {
  const { log, checkpointed } = writer.logPages()
  return { log, pending: log - checkpointed }
}

self.onmessage = (event: MessageEvent<ToWriter>) => {
  const message = event.data
  if ('group' in message) {
    const outcomes = writer.commit(decodeGroup(message.group))
    reply({ outcomes, ...logState() })
  } else if ('checkpoint' in message) {
    try {
      writer.checkpoint()
      reply({ checkpointed: true, ...logState() })
    } catch (error) {
      reply({ checkpointed: true, log: 0, pending: 0, fault: String(error) })
    }
  } else if ('open' in message) {
    try {
      writer = new Writer(message.open)
      reply({ opened: true })
    } catch (error) {
      reply({ refused: (error as Error).message })
    }
  } else {
    writer.close()
    reply({ closed: true })
  }
}
