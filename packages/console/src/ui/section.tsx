import type { ComponentChildren } from 'preact'

/** A part of a screen with its heading. */
export const Section = ({
  title,
  actions,
  children,
}: {
  title: string
  actions?: ComponentChildren
  children: ComponentChildren
}) => (
  <section class="section">
    <div class="section-head">
      <h2>{title}</h2>
      {actions && <div class="actions">{actions}</div>}
    </div>
    {children}
  </section>
)
