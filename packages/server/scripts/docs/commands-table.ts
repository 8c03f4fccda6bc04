import { commands } from '../../src/cli/run.ts'
import { code, table } from './markdown.ts'

/** Every command with its flags. */
export const commandsTable = (): string =>
  table(
    ['command', 'flags'],
    commands.map(({ name, positionals = [], flags }) => [
      code(['cubby', name, ...positionals].join(' ')),
      Object.entries(flags)
        .map(([flag, { value }]) => code(value === undefined ? `--${flag}` : `--${flag} ${value}`))
        .join(' '),
    ]),
  )
