export interface Place {
  line: number
  column: number
}

/** A line ends at LF, CR LF or CR, as in a text field of a browser. */
const endsLine = (text: string, at: number): boolean =>
  text[at] === '\n' || (text[at] === '\r' && text[at + 1] !== '\n')

/** Line and column of an offset, both from 1. A column is a code point, so an emoji counts once. */
export const placeOf = (text: string, offset: number): Place => {
  let line = 1
  let column = 1
  const end = Math.min(offset, text.length)
  for (let at = 0; at < end; at++) {
    const code = text.charCodeAt(at)
    if ((code === 0x0a || code === 0x0d) && endsLine(text, at)) {
      line++
      column = 1
    } else if (code < 0xdc00 || code > 0xdfff || !isHigh(text.charCodeAt(at - 1))) {
      column++
    }
  }
  return { line, column }
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

/** The offset at which each line starts; the first is 0. */
export const lineStarts = (text: string): number[] => {
  const starts = [0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if ((code === 0x0a || code === 0x0d) && endsLine(text, at)) starts.push(at + 1)
  }
  return starts
}
