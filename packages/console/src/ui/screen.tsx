import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { hrefOf, type Route } from '../router.ts'

interface Crumb {
  label: string
  to: Route
}

interface Props {
  /** The path of the screen, outermost first. */
  path?: Crumb[]
  title: string
  /** Data such as a key or a file name is set in the font of data. */
  isData?: boolean
  /** Stands after the title. */
  beside?: ComponentChildren
  actions?: ComponentChildren
  children: ComponentChildren
}

/** The header with the place and the actions, and the main part below it. */
export const Screen = ({ path = [], title, isData = false, beside, actions, children }: Props) => {
  useEffect(() => {
    document.title = `${[title, ...path.map(({ label }) => label).reverse()].join(' · ')} · Cubby`
  })
  return (
    <>
      <header class="head">
        <div class="place">
          {path.length > 0 && (
            <nav aria-label="Place">
              {path.map(({ label, to }) => (
                <span key={hrefOf(to)}>
                  <a href={hrefOf(to)}>{label}</a> <span aria-hidden="true">/</span>{' '}
                </span>
              ))}
            </nav>
          )}
          <h1 class={isData ? 'mono' : ''}>{title}</h1>
          {beside}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  )
}

/** One sentence on what this place is for, and the one action that fills it. */
export const Empty = ({ text, children }: { text: ComponentChildren; children?: ComponentChildren }) => (
  <div class="empty">
    <p>{text}</p>
    {children}
  </div>
)

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
