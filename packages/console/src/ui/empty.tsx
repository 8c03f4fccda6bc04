import type { ComponentChildren } from 'preact'

/** One sentence on what this place is for, and the one action that fills it. */
export const Empty = ({ text, children }: { text: ComponentChildren; children?: ComponentChildren }) => (
  <div class="empty">
    <p>{text}</p>
    {children}
  </div>
)
