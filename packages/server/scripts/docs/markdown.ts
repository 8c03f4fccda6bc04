// Texts of generated Markdown: tables, JSON and HTTP messages.

const columnsMax = 118

const oneLine = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${oneLine(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** JSON with a line for each member, except where a value fits into one line. `used`: columns before it and after it. */
export const printJson = (value: unknown, indent = '', used = 0): string => {
  const line = oneLine(value)
  if (typeof value !== 'object' || value === null || indent.length + used + line.length <= columnsMax) return line
  const inner = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((element) => inner + printJson(element, inner, 1))
    : Object.entries(value).map(([name, member]) => {
        const start = `${JSON.stringify(name)}: `
        return inner + start + printJson(member, inner, start.length + 1)
      })
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

/** A code block with an HTTP message. */
export const httpBlock = (first: string, headers: Record<string, string>, body?: string): string => {
  const head = [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n')
  return `\`\`\`http\n${head}\n${body === undefined ? '' : `\n${body}\n`}\`\`\``
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

export const table = (heads: string[], rows: string[][]): string =>
  [heads, heads.map(() => '---'), ...rows]
    .map(
      (cells) => `|${cells.map((text) => (text === '---' ? text : text === '' ? ' ' : ` ${cell(text)} `)).join('|')}|`,
    )
    .join('\n')

export const code = (text: string): string => `\`${text}\``

/** The anchor that a heading gets. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** A comment before a generated part says what is in it. */
const part = /^<!-- generated: ([^\n]+) -->\n.*?^<!-- \/generated -->$/gms

/** Lists what the comments of a page say. */
export const partsOf = (page: string): string[] => Array.from(page.matchAll(part), ([, names]) => names!)

export const replaceParts = (page: string, textOf: (names: string) => string): string =>
  page.replaceAll(part, (_, names: string) => `<!-- generated: ${names} -->\n${textOf(names)}\n<!-- /generated -->`)
