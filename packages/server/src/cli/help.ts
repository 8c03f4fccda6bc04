import { typedCommand } from '../process/own-program.ts'
import type { CliCommand } from './command.ts'

/** The headings of the overview, each with the first words of its commands. */
const groups: readonly (readonly [heading: string, firstWords: string])[] = [
  ['Server', 'serve health console mcp'],
  ['Organizations and keys', 'orgs keys secrets'],
  ['Users of applications', 'tokens issuers'],
  ['Databases, tables and records', 'db table get put patch delete query changes'],
  ['Buckets and files', 'bucket files'],
  ['Tasks and runs', 'tasks'],
  ['Export, import and copy', 'export import copy'],
  ['The store as a whole', 'backup verify stats compact'],
  ['Shell', 'completion'],
]

const usage = ({ name, positionals = [] }: CliCommand): string => ['cubby', name, ...positionals].join(' ')

const columns = (rows: [string, string][], width = Math.max(...rows.map(([left]) => left.length))): string =>
  rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')

/** The texts say `cubby`. A person gets the words that were typed. */
const asTyped = (text: string): string => text.replaceAll(/\bcubby (?=[a-z])/g, `${typedCommand()} `)

/** `commands` is all of them, or those that begin with one word. */
export const overview = (commands: CliCommand[]): string => {
  const rows = commands.map((command): [string, string] => [asTyped(usage(command)), command.summary])
  const width = Math.max(...rows.map(([left]) => left.length))
  const sections = groups.flatMap(([heading, firstWords]) => {
    const isIn = ({ name }: CliCommand): boolean => firstWords.split(' ').includes(name.split(' ')[0]!)
    const inGroup = rows.filter((_, i) => isIn(commands[i]!))
    return inGroup.length === 0 ? [] : [`${heading}\n${columns(inGroup, width)}`]
  })
  return `Cubby, a schemaless document store.

${sections.join('\n')}
Each command has --help, with an example. Every flag can also be set in the environment: --data as CUBBY_DATA.
`
}

export const commandHelp = (command: CliCommand): string => {
  const flags = Object.entries(command.flags).map(([name, flag]): [string, string] => [
    [flag.value === undefined ? `--${name}` : `--${name} ${flag.value}`, flag.short && `-${flag.short}`]
      .filter((part) => part !== undefined)
      .join(', '),
    flag.default === undefined ? flag.help : `${flag.help} (${flag.default})`,
  ])
  const details = command.details === undefined ? '' : `\n${command.details}\n`
  const listed = flags.length === 0 ? '' : `\nFlags:\n${columns(flags)}`
  const called = flags.length === 0 ? usage(command) : `${usage(command)} [flags]`
  const text = `${called}\n\n  ${command.summary}\n${details}\nExample:\n  ${command.example}\n${listed}`
  return asTyped(text)
}
