import type { CliCommand } from './command.ts'

const usage = ({ name, positionals = [] }: CliCommand): string => ['cubby', name, ...positionals].join(' ')

const columns = (rows: [string, string][]): string => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')
}

export const overview = (commands: CliCommand[]): string => `Cubby, a schemaless document store.

${columns(commands.map((command) => [usage(command), command.summary]))}
Each command has --help. Every flag can also be set in the environment: --data as CUBBY_DATA, and so on.
`

export const commandHelp = (command: CliCommand): string => {
  const flags = Object.entries(command.flags).map(([name, flag]): [string, string] => [
    [flag.value === undefined ? `--${name}` : `--${name} ${flag.value}`, flag.short && `-${flag.short}`]
      .filter((part) => part !== undefined)
      .join(', '),
    flag.default === undefined ? flag.help : `${flag.help} (${flag.default})`,
  ])
  const details = command.details === undefined ? '' : `\n${command.details}\n`
  return `${usage(command)} [flags]\n\n  ${command.summary}\n${details}\n${columns(flags)}`
}
