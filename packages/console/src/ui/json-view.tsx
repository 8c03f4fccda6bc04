import type { ComponentChildren } from 'preact'
import { tokensOf } from '../text/tokens.ts'

/** Longer texts are shown without colours: each token is an element. */
const colouredCharactersMax = 50_000

/** Text as it is, which scrolls to the side. */
export const Code = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <section class="code scroll-x" tabIndex={0} aria-label={label}>
    <pre>{children}</pre>
  </section>
)

/** JSON text as it is, coloured. `kind` of a token is its class. */
export const JsonView = ({ text, label }: { text: string; label: string }) => (
  <Code label={label}>
    {text.length > colouredCharactersMax
      ? text
      : tokensOf(text).map(({ kind, start, end }, index, all) => (
          <span key={start} class={`json-${kind}`}>
            {text.slice(index === 0 ? 0 : all[index - 1]!.end, start)}
            {text.slice(start, end)}
          </span>
        ))}
  </Code>
)
