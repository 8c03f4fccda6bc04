import { signal } from '@preact/signals'

// The dialog that lies over every screen. Its code is loaded when it is opened.

export type Overlay =
  | { kind: 'jump' }
  | { kind: 'keys' }
  | { kind: 'connect' }
  /** `db` and `table` fill in the form. */
  | { kind: 'createTable'; db?: string; table?: string }

export const overlay = signal<Overlay | undefined>(undefined)

export const closeOverlay = (): void => {
  overlay.value = undefined
}

/** Counts the tables that were created here: the screen of a table that was missing starts again. */
export const createdTables = signal(0)
