import { Connection } from './connection.ts'

// Copies pages from the log into the database file while the writer goes on. Passive: it waits for nobody and
// nobody waits for it.

declare const self: Worker

export type ToCheckpointer = { open: string } | { copy: true } | { close: true }
export type FromCheckpointer = { copied: true; fault?: string } | { opened: true } | { closed: true }

let db: Connection | undefined

const reply = (message: FromCheckpointer): void => self.postMessage(message)

self.onmessage = (event: MessageEvent<ToCheckpointer>) => {
  const message = event.data
  if ('open' in message) {
    db = new Connection(message.open, 1_024)
    reply({ opened: true })
  } else if ('copy' in message) {
    try {
      db!.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()
      reply({ copied: true })
    } catch (error) {
      reply({ copied: true, fault: String(error) })
    }
  } else {
    db?.close()
    reply({ closed: true })
  }
}
