import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { LiveRegions } from './live-regions.tsx'

/**
 * Gives the focus to the screen if the element that had it is gone, such as a button for selected rows. The next key goes on
 * from there. This happens after the screen was drawn.
 */
export const keepFocus = (): void => {
  setTimeout(() => {
    if (document.activeElement === document.body) document.getElementById('main')?.focus()
  })
}

interface Props {
  title: string
  onClose: () => void
  children: ComponentChildren
  /** True for a dialog that is wider than a question. */
  isWide?: boolean
}

/** A modal dialog. Its first field has the focus, Esc closes it, and the focus returns to where it was. */
export const Dialog = ({ title, onClose, children, isWide = false }: Props) => {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const focused = document.activeElement
    const dialog = element.current!
    dialog.showModal()
    dialog.querySelector<HTMLElement>('input:enabled, select:enabled, textarea:enabled')?.focus()
    return () => {
      dialog.close()
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus()
      keepFocus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={isWide ? 'wide' : ''}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </div>
      {children}
      {/* Live regions outside a modal dialog are silent while it is open. */}
      <LiveRegions />
    </dialog>
  )
}
