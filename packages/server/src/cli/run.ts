import packageJson from '../../package.json' with { type: 'json' }
import { maskApiKeys } from '../core/api-keys/mask-api-keys.ts'
import { CubbyError } from '../core/errors.ts'
import { OperatorError } from '../core/operator-error.ts'
import { StoreUrlRefused } from '../core/store-refused.ts'
import { BlobStoreUrlRefused } from '../store/blob-store.ts'
import { didYouMean, parseArguments, UsageError } from './arguments.ts'
import type { CliCommand } from './command.ts'
import { backupCommands } from './commands/backup.ts'
import { bucketCommands } from './commands/bucket.ts'
import { changesCommand } from './commands/changes.ts'
import { compactCommand } from './commands/compact.ts'
import { completionCommands } from './commands/completion.ts'
import { consoleLinkCommand } from './commands/console.ts'
import { copyCommand } from './commands/copy.ts'
import { dbListCommand } from './commands/db.ts'
import { deleteCommand } from './commands/delete.ts'
import { exportCommand } from './commands/export.ts'
import { filesCommands } from './commands/files.ts'
import { getCommand } from './commands/get.ts'
import { healthCommand } from './commands/health.ts'
import { importCommand } from './commands/import.ts'
import { issuersCommands } from './commands/issuers.ts'
import { keysCommands } from './commands/keys.ts'
import { mcpCommand } from './commands/mcp.ts'
import { orgsCommands } from './commands/orgs.ts'
import { patchCommand } from './commands/patch.ts'
import { putCommand } from './commands/put.ts'
import { queryCommand } from './commands/query.ts'
import { secretsRotateCommand } from './commands/secrets.ts'
import { serveCommand } from './commands/serve.ts'
import { statsCommand } from './commands/stats.ts'
import { tableCommands } from './commands/table.ts'
import { tasksCommands } from './commands/tasks.ts'
import { tokensCommands } from './commands/tokens.ts'
import { verifyCommand } from './commands/verify.ts'
import { commandHelp, overview } from './help.ts'
import { errorLine } from './hint-text.ts'
import { printNote } from './print.ts'

export const commands: CliCommand[] = [
  serveCommand,
  healthCommand,
  ...orgsCommands,
  ...keysCommands,
  ...tokensCommands,
  ...issuersCommands,
  consoleLinkCommand,
  secretsRotateCommand,
  verifyCommand,
  statsCommand,
  dbListCommand,
  ...tableCommands,
  getCommand,
  putCommand,
  patchCommand,
  deleteCommand,
  queryCommand,
  changesCommand,
  ...bucketCommands,
  ...filesCommands,
  ...tasksCommands,
  mcpCommand,
  copyCommand,
  exportCommand,
  importCommand,
  ...backupCommands,
  compactCommand,
  ...completionCommands(() => commands),
]

const findCommand = (words: string[]): CliCommand | undefined =>
  commands.find(({ name }) => name.split(' ').every((word, i) => words[i] === word))

const say = (line: string): void => printNote(maskApiKeys(`cubby: ${line}`))

/** Runs one call of the command line; resolves to its exit code. */
export const run = async (called: string[], env: Record<string, string | undefined>): Promise<number> => {
  if (called.includes('--version') || called[0] === '-v') {
    process.stdout.write(`cubby ${packageJson.version}\n`)
    return 0
  }
  const help = called[0] === 'help' || called.includes('--help') || called.includes('-h')
  const words = called[0] === 'help' ? called.slice(1) : called
  const command = findCommand(words)
  if (command === undefined) return withoutCommand(words, help)
  if (help) {
    process.stdout.write(commandHelp(command))
    return 0
  }
  try {
    return await command.run(parseArguments(command, words.slice(command.name.split(' ').length), env))
  } catch (error) {
    return explain(error, command)
  }
}

/** `cubby` alone lists all commands, `cubby orgs` only those that start with orgs. */
const withoutCommand = (words: string[], help: boolean): number => {
  const word = words.find((candidate) => !candidate.startsWith('-'))
  const group = word === undefined ? commands : commands.filter(({ name }) => name.startsWith(`${word} `))
  if (group.length === 0) {
    const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0]!))]
    say(`there is no command "${word}"${didYouMean(word!, firstWords)}; see cubby --help`)
    return 2
  }
  if (help || words.length <= 1) {
    process.stdout.write(overview(group))
    return help ? 0 : 2
  }
  const called = words.slice(0, 2).join(' ')
  const names = group.map(({ name }) => name)
  say(`there is no command "${called}"${didYouMean(called, names)}; see cubby ${word} --help`)
  return 2
}

const explain = (error: unknown, command: CliCommand): number => {
  if (error instanceof UsageError || error instanceof StoreUrlRefused || error instanceof BlobStoreUrlRefused) {
    say(`${error.message}; see cubby ${command.name} --help`)
    return 2
  }
  if (error instanceof OperatorError) say(error.message)
  else if (error instanceof CubbyError) say(errorLine(error))
  else say((error as { message?: string }).message ?? String(error))
  return 1
}
