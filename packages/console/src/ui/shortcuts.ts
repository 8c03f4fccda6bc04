import { overlay } from '../state/overlay.ts'

// Keys that work on every screen. A screen marks its places: `data-focus-key="/"` gets the focus.

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** The query bar, or the filter where there is none. */
const focusQuery = (): boolean => {
  const places = document.querySelectorAll<HTMLElement>('[data-focus-key="/"]')
  const last = [...places].filter((place) => place.offsetParent !== null).at(-1)
  last?.focus()
  if (last instanceof HTMLInputElement) last.select()
  return last !== undefined
}

export const startShortcuts = (): (() => void) => {
  const onKey = (event: KeyboardEvent): void => {
    const isCommand = event.ctrlKey || event.metaKey
    if (event.altKey || document.querySelector('dialog[open]') || !document.querySelector('.shell')) return
    if (isCommand && event.key.toLowerCase() === 'k' && !event.shiftKey) {
      overlay.value = { kind: 'jump' }
      event.preventDefault()
    }
    if (isCommand || isTyping(event.target)) return
    if (event.key === '?') overlay.value = { kind: 'keys' }
    if (event.key === '/' && focusQuery()) event.preventDefault()
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}
