import type { ComponentChildren } from 'preact'

/** The head of a column; with a class of its own, which hides it on narrow screens or aligns it. */
type Head = ComponentChildren | { head: ComponentChildren; class: string }

/** A head that only screen readers need. */
export const hidden = (text: string) => <span class="offscreen">{text}</span>

export const Heads = ({ of }: { of: readonly Head[] }) => (
  <thead>
    <tr>
      {of.map((each, index) => {
        const isObject = typeof each === 'object' && each !== null && 'head' in each
        return (
          <th key={index} scope="col" class={isObject ? each.class : undefined}>
            {isObject ? each.head : each}
          </th>
        )
      })}
    </tr>
  </thead>
)

interface Props {
  heads: readonly Head[]
  class?: string
  isBusy?: boolean
  /** The rows. */
  children: ComponentChildren
}

/**
 * A table. On a phone each row is a block: its row head, then its cells side by side. A cell whose meaning is not obvious there
 * has the name of its column in `data-label`.
 */
export const List = ({ heads, class: className, isBusy, children }: Props) => (
  <div class="scroll-x" aria-busy={isBusy}>
    <table class={className === undefined ? 'list blocks' : `list blocks ${className}`}>
      <Heads of={heads} />
      <tbody>{children}</tbody>
    </table>
  </div>
)
