import { all } from './dom.ts'

// Colours for the values in code, without elements for them: the browser paints ranges of the text. The page has thousands
// of values, so only blocks near the screen are read.

const doubleQuoted = '"(?:[^"\\\\\\n]|\\\\.)*"'
const singleQuoted = "'(?:[^'\\\\\\n]|\\\\.)*'|`[^`\\n]*`"

/** A member name is a string too, but keeps the colour of the text. */
const pattern = (strings: string): RegExp =>
  new RegExp(
    [
      `(?:${strings})(?=\\s*:)`,
      `(?<string>${strings})`,
      '(?<number>(?<![\\w.$:-])-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?(?![\\w.]))',
      '(?<boolean>\\b(?:true|false|True|False)\\b)',
      '(?<null>\\b(?:null|None)\\b)',
    ].join('|'),
    'g',
  )

const kinds = ['string', 'number', 'boolean', 'null']

// A body in a shell is surrounded by single quotes.
const tokensOf: Record<string, RegExp> = { typescript: pattern(`${doubleQuoted}|${singleQuoted}`) }
const plainTokens = pattern(doubleQuoted)

const highlight = (pre: HTMLElement): void => {
  const text = pre.firstChild
  if (!(text instanceof Text) || pre.dataset.coloured !== undefined) return
  pre.dataset.coloured = ''
  for (const match of text.data.matchAll(tokensOf[pre.dataset.syntax ?? ''] ?? plainTokens)) {
    const kind = kinds.find((name) => match.groups?.[name] !== undefined)
    if (kind === undefined) continue
    const range = new Range()
    range.setStart(text, match.index)
    range.setEnd(text, match.index + match[0].length)
    CSS.highlights.get(kind)!.add(range)
  }
}

const supported = (): boolean => typeof Highlight === 'function' && 'highlights' in CSS

export const startHighlighting = (): void => {
  if (!supported()) return
  for (const name of kinds) CSS.highlights.set(name, new Highlight())
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue
        near.unobserve(target)
        highlight(target as HTMLElement)
      }
    },
    { rootMargin: '600px' },
  )
  // A hidden block is observed too: it intersects once its tab is chosen.
  for (const pre of all('pre[data-syntax]')) near.observe(pre)
}

export const highlightNow = (pre: HTMLElement): void => {
  if (supported()) highlight(pre)
}
