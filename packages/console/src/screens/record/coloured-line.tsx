import { useMemo } from 'preact/hooks'
import { tokensOf } from '../../text/tokens.ts'

const draw = (text: string) => {
  const parts = []
  let drawn = 0
  for (const { kind, start, end } of tokensOf(text)) {
    // Marks and names have the colour of text.
    if (kind === 'mark' || kind === 'name') continue
    parts.push(
      text.slice(drawn, start),
      <span key={start} class={`json-${kind}`}>
        {text.slice(start, end)}
      </span>,
    )
    drawn = end
  }
  parts.push(text.slice(drawn))
  return <div>{parts}</div>
}

/** One line of the editor. It is drawn again only when its text changes. */
export const ColouredLine = ({ text }: { text: string }) => useMemo(() => draw(text.replace(/\n$/, '')), [text])
