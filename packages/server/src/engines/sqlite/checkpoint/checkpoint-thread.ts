import { type CheckpointFault, Connection } from '../connection.ts'
import { faultPoint } from '../disk/fault-point.ts'

// Runs passive checkpoints while the writer commits: neither waits for the other.

declare const self: Worker

export type ToCheckpointThread = { open: string; faults?: string } | { checkpoint: true } | { close: true }
export type FromCheckpointThread = { opened: true } | { checkpointed: true; fault?: CheckpointFault } | { closed: true }

let db: Connection | undefined
let faults: string | undefined

const reply = (message: FromCheckpointThread): void => self.postMessage(message)

self.onmessage = (event: MessageEvent<ToCheckpointThread>) => {
  const message = event.data
  if ('open' in message) {
    faults = message.faults
    if (faults !== undefined) faultPoint(faults, 'open')
    db = new Connection(message.open, 1_024)
    reply({ opened: true })
  } else if ('checkpoint' in message) {
    if (faults !== undefined) faultPoint(faults, 'copy')
    reply({ checkpointed: true, fault: db!.checkpoint() })
  } else {
    db?.close()
    reply({ closed: true })
  }
}
