import { useSignal } from '@preact/signals'
import { alarm, announce } from './announce.ts'

/** A page over plain `http` on another host than localhost has no `navigator.clipboard`. */
const copyBySelection = (text: string): boolean => {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'offscreen'
  const focused = document.activeElement
  // Only elements inside a modal dialog can have the focus while it is open.
  ;(document.querySelector('dialog[open]') ?? document.body).append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isDone
}

const copyText = async (text: string): Promise<boolean> => {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      // The browser does not allow it here. The old way may work.
    }
  }
  return copyBySelection(text)
}

interface Props {
  /** The text is made when it is needed. */
  text: () => string
  label?: string
  class?: string
  /** The name of the copied thing for screen readers, if the label alone does not say it. */
  what?: string
  /** The role of a button in a menu. */
  role?: 'menuitem'
}

export const CopyButton = ({ text, label = 'Copy', class: className = '', what, role }: Props) => {
  const isDone = useSignal(false)
  const copy = async () => {
    isDone.value = await copyText(text())
    if (!isDone.value) return alarm('The browser did not allow copying.')
    announce('Copied')
    setTimeout(() => {
      isDone.value = false
    }, 1500)
  }
  return (
    <button
      type="button"
      role={role}
      class={className}
      aria-label={what === undefined ? undefined : `${label} ${what}`}
      onClick={copy}
    >
      {isDone.value ? 'Copied' : label}
    </button>
  )
}
