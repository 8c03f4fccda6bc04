import { signal } from '@preact/signals'

// Messages that screen readers say without moving the focus. See live-regions.tsx.

/** A text stays for so long beside newer ones: "1 record" comes right after "Saved", and both are said. */
const staysMs = 5_000

export const polite = signal<readonly { text: string; atMs: number; id: number }[]>([])
export const urgent = signal('')
let lastId = 0

/** Counts, saves. */
export const announce = (text: string): void => {
  const atMs = Date.now()
  const young = polite.peek().filter((said) => atMs - said.atMs < staysMs)
  polite.value = [...young, { text, atMs, id: ++lastId }]
}

/** Errors. */
export const alarm = (text: string): void => {
  urgent.value = text
}
