import { signal } from '@preact/signals'

// What lies over every screen. Its code is loaded when it is opened.

export type Overlay =
  | { kind: 'jump' }
  | { kind: 'keys' }
  | { kind: 'connect' }
  /** With `db`, in that database; with `table`, of that name. */
  | { kind: 'createTable'; db?: string; table?: string }

export const overlay = signal<Overlay | undefined>(undefined)

export const closeOverlay = (): void => {
  overlay.value = undefined
}

/** How many tables were created here: the screen of a table that was missing begins again. */
export const createdTables = signal(0)
