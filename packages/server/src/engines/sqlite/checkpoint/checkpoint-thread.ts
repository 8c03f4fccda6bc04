import { type CheckpointFault, Connection } from '../connection.ts'
import { faultPoint } from '../disk/fault-point.ts'

// Copies pages from the log into the database file while the writer goes on. Passive: it waits for nobody and
// nobody waits for it.

declare const self: Worker

export type ToCheckpointer = { open: string; faults?: string } | { copy: true } | { close: true }
export type FromCheckpointer = { copied: true; fault?: CheckpointFault } | { opened: true } | { closed: true }

let db: Connection | undefined
let faults: string | undefined

const reply = (message: FromCheckpointer): void => self.postMessage(message)

self.onmessage = (event: MessageEvent<ToCheckpointer>) => {
  const message = event.data
  if ('open' in message) {
    faults = message.faults
    if (faults !== undefined) faultPoint(faults, 'open')
    db = new Connection(message.open, 1_024)
    reply({ opened: true })
  } else if ('copy' in message) {
    if (faults !== undefined) faultPoint(faults, 'copy')
    reply({ copied: true, fault: db!.checkpoint() })
  } else {
    db?.close()
    reply({ closed: true })
  }
}
