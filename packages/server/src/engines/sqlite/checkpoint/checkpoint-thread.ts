import { type CheckpointFault, Connection } from '../connection.ts'
import { faultPoint } from '../disk/fault-point.ts'

// This thread runs passive checkpoints while the writer commits: neither waits for the other.

declare const self: Worker

export type ToCheckpointThread =
  | { open: string; faults?: string }
  | { checkpoint: true }
  /** Keeps all checkpoints from copying commits after this one, until the next checkpoint or `false`. */
  | { pin: boolean }
  | { close: true }
export type FromCheckpointThread =
  | { opened: true }
  | { checkpointed: true; fault?: CheckpointFault }
  | { pinned: boolean }
  | { closed: true }

let db: Connection | undefined
let faults: string | undefined

/** A second connection, whose open read transaction is the pin. */
let pin: Connection | undefined

const setPin = (isPinned: boolean): void => {
  // A pin may be left from a reset during which the writer was lost.
  if (pin?.inTransaction) pin.run('COMMIT')
  if (!isPinned) return
  pin ??= new Connection(db!.path, 256)
  pin.run('BEGIN')
  pin.one('SELECT 1 FROM sqlite_schema LIMIT 1')
}

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
    const fault = db!.checkpoint()
    setPin(false)
    reply({ checkpointed: true, fault })
  } else if ('pin' in message) {
    setPin(message.pin)
    reply({ pinned: message.pin })
  } else {
    pin?.close()
    db?.close()
    reply({ closed: true })
  }
}
