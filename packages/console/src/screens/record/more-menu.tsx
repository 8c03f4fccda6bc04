import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

/** The actions that are used less often. Esc, a click on one and leaving it close it. */
export const MoreMenu = ({ children }: { children: ComponentChildren }) => {
  const menu = useRef<HTMLDetailsElement>(null)
  const close = () => {
    menu.current!.open = false
  }
  return (
    <details
      ref={menu}
      class="more-menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !menu.current!.open) return
        event.stopPropagation()
        close()
        menu.current!.querySelector('summary')!.focus()
      }}
      onFocusOut={(event) => {
        if (!menu.current!.contains(event.relatedTarget as Node | null)) close()
      }}
    >
      <summary class="button">More</summary>
      <div class="more-items">{children}</div>
    </details>
  )
}
