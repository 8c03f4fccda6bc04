/**
 * Indents JSON text without reading its values: `JSON.parse` would round long numbers, and the server returns them as they
 * were sent. Text that is not JSON comes back unchanged.
 */
export const indentJson = (text: string): string => {
  try {
    JSON.parse(text)
  } catch {
    return text
  }
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  // Strings are taken whole, so that their braces and spaces are left alone.
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+|[{[]\s*[}\]]|[{}[\],:]/g, (token) => {
    if (token.startsWith('"')) return token
    if (/^\s/.test(token)) return ''
    if (token.length > 1) return token[0]! + token.at(-1)
    if (token === ':') return ': '
    if (token === ',') return `,${line()}`
    depth += token === '{' || token === '[' ? 1 : -1
    return token === '{' || token === '[' ? token + line() : line() + token
  })
}
