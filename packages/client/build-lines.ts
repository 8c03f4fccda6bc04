// Breaks the one line of a minified module into many, and its source map with it.

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** The first number of a segment, and how many characters it takes. Source maps write numbers as Base64 VLQ. */
const readFirst = (segment: string): { value: number; length: number } => {
  let bits = 0
  for (let length = 0; ; length++) {
    const digit = digits.indexOf(segment[length]!)
    bits |= (digit & 31) << (5 * length)
    if (digit < 32) return { value: bits & 1 ? -(bits >> 1) : bits >> 1, length: length + 1 }
  }
}

/** A line ends after every `;`. Where there is none for long, it ends after `,` or `{`. */
const mayEnd = (lineLength: number, last: string): boolean =>
  lineLength > 0 && (last === ';' || (lineLength >= 200 && (last === ',' || last === '{')))

/** Ends lines only before a token of the source map, and only after characters where a line break means nothing. */
export const breakLines = (script: string, mappings: string): { script: string; mappings: string } => {
  const lines: string[] = []
  let lineStart = 0
  let column = 0
  const segments = mappings.split(',').map((segment, i) => {
    const { value, length } = readFirst(segment)
    column += value
    if (!mayEnd(column - lineStart, script[column - 1]!)) return `${i === 0 ? '' : ','}${segment}`
    lines.push(script.slice(lineStart, column))
    lineStart = column
    // The first number of a segment is the distance from the one before it on the same line. `A` is 0.
    return `;A${segment.slice(length)}`
  })
  return { script: [...lines, script.slice(lineStart)].join('\n'), mappings: segments.join('') }
}
