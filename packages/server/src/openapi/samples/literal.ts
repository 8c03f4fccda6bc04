/** The syntax with which a language writes a JSON value. */
interface Syntax {
  words: { true: string; false: string; null: string }
  text(value: string): string
  memberName(name: string): string
  /** Inside the braces of an object on one line. */
  padding: string
  indent: string
  /** A comma after the last member, if each is on its own line. */
  trailingComma: boolean
}

const quoted = (text: string): string => JSON.stringify(text)

/** Uses single quotes if nothing has to be escaped differently than in JSON. */
const singleQuoted = (text: string): string =>
  text.includes("'") ? quoted(text) : `'${quoted(text).slice(1, -1).replaceAll('\\"', '"')}'`

export const json: Syntax = {
  words: { true: 'true', false: 'false', null: 'null' },
  text: quoted,
  memberName: quoted,
  padding: '',
  indent: '  ',
  trailingComma: false,
}

export const typescript: Syntax = {
  ...json,
  text: singleQuoted,
  memberName: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : singleQuoted(name)),
  padding: ' ',
  trailingComma: true,
}

export const python: Syntax = {
  ...json,
  words: { true: 'True', false: 'False', null: 'None' },
  indent: '    ',
  trailingComma: true,
}

const columnsMax = 66

/** Text that is already source code, as a member of an object. */
export class Source {
  constructor(readonly text: string) {}
}

const scalar = (value: unknown, { words, text }: Syntax): string | undefined => {
  if (value instanceof Source) return value.text
  if (typeof value === 'string') return text(value)
  if (typeof value === 'boolean' || value === null) return words[`${value}`]
  return typeof value === 'number' ? String(value) : undefined
}

const onOneLine = (value: unknown, syntax: Syntax): string => {
  const simple = scalar(value, syntax)
  if (simple !== undefined) return simple
  if (Array.isArray(value)) return `[${value.map((item) => onOneLine(item, syntax)).join(', ')}]`
  const members = Object.entries(value as object)
  if (members.length === 0) return '{}'
  const texts = members.map(([name, member]) => `${syntax.memberName(name)}: ${onOneLine(member, syntax)}`)
  return `{${syntax.padding}${texts.join(', ')}${syntax.padding}}`
}

/**
 * A JSON value as source code: on one line if it fits. `depth` is the indentation of the line it starts in, `before` the
 * number of columns that are taken there.
 */
export const literal = (value: unknown, syntax: Syntax, depth = 0, before = 0): string => {
  const line = onOneLine(value, syntax)
  const start = depth * syntax.indent.length + before
  if (start + line.length <= columnsMax || scalar(value, syntax) !== undefined) return line
  const inner = syntax.indent.repeat(depth + 1)
  const lines = Array.isArray(value)
    ? value.map((item) => inner + literal(item, syntax, depth + 1))
    : Object.entries(value as object).map(([name, member]) => {
        const head = `${syntax.memberName(name)}: `
        return inner + head + literal(member, syntax, depth + 1, head.length)
      })
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${lines.join(',\n')}${syntax.trailingComma ? ',' : ''}\n${syntax.indent.repeat(depth)}${close}`
}
