import type { CubbyError, ErrorCode } from '../core/errors.ts'
import { type HintLanguage, hintText } from '../core/hint.ts'

/** The command that runs an operation. A flag in brackets is used only if its member is given. */
export const commandOf: Record<string, string> = {
  listDatabases: 'db list',
  listTables: 'table list --db {db} [--deleted {deleted}]',
  createTable: 'table create {table} --db {db}',
  describeTable: 'table describe {table} --db {db}',
  deleteTable: 'table drop {table} --db {db}',
  restoreTable: 'table restore {table} --db {db} [--deleted-at {deletedAt}]',
  getRecord: 'get {hashKey} [{rangeKey}] --db {db} --table {table}',
  putRecord: 'put {hashKey} [{rangeKey}] --db {db} --table {table}',
  deleteRecord: 'delete {hashKey} [{rangeKey}] --db {db} --table {table}',
  queryRecords: 'query --db {db} --table {table}',
  listBuckets: 'bucket list --db {db} [--deleted {deleted}]',
  createBucket: 'bucket create {bucket} --db {db}',
  describeBucket: 'bucket describe {bucket} --db {db}',
  deleteBucket: 'bucket drop {bucket} --db {db}',
  restoreBucket: 'bucket restore {bucket} --db {db} [--deleted-at {deletedAt}]',
  putFile: 'files put {bucket} {name} FILE --db {db}',
  // Where a hint names the record, the version is what the caller needs.
  getFile: 'files list {bucket} --prefix {name} --json --db {db}',
  deleteFile: 'files rm {bucket} {name} --db {db}',
  queryFiles: 'files list {bucket} --db {db}',
  getFileUrl: 'files url {bucket} {name} --db {db}',
  listTasks: 'tasks list --db {db} [--deleted {deleted}]',
  declareTask: 'tasks declare {task} --db {db}',
  describeTask: 'tasks describe {task} --db {db}',
  deleteTask: 'tasks drop {task} --db {db}',
  restoreTask: 'tasks restore {task} --db {db} [--deleted-at {deletedAt}]',
  createTaskSecret: 'tasks secret {task} --db {db}',
  runTask: 'tasks run {task} --db {db}',
  getRun: 'tasks get {task} {run} --db {db}',
  queryRuns: 'tasks runs {task} --db {db}',
  cancelRun: 'tasks cancel {task} {run} --db {db}',
  retryRun: 'tasks retry {task} {run} --db {db}',
  listApiKeys: 'keys list --org {org}',
  createApiKey: 'keys create --org {org} --kind {kind}',
  revokeApiKey: 'keys revoke {id} --org {org}',
}

const isFlag = (value: unknown): boolean => value === true || value === 'true'

const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

const shell: HintLanguage = {
  call({ operation, input }) {
    const template = commandOf[operation]
    if (template === undefined) return operation
    const words = template
      .replaceAll(/ ?\[([^\]]*)\{(\w+)\}\]/g, (_, flag: string, name: string) => {
        if (input[name] === undefined) return ''
        return isFlag(input[name]) ? ` ${flag.trimEnd()}` : ` ${flag}${input[name]}`
      })
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input[name] ?? name.toUpperCase()))
    return `cubby ${words}`
  },
  send: (members) =>
    Object.entries(members)
      .map(([name, value]) => `${flagOf(name)} ${value}`)
      .join(' '),
  give: () => 'give that too',
  repeatLater: 'Try again later',
}

/** Codes for which a shell user needs a different hint. */
const ownHints: Partial<Record<ErrorCode, string>> = {
  missing_api_key: 'Set CUBBY_KEY or give --key.',
  invalid_api_key: 'Set CUBBY_KEY, or give --key, to an API key of this server.',
  read_only_key: 'Use a secret key (svc_live_…).',
  route_not_found: 'Give --url without a path, for example http://127.0.0.1:4600.',
  method_not_allowed: 'Give --url without a path, for example http://127.0.0.1:4600.',
}

/** An error in one line, for the user of the shell. */
export const errorLine = ({ code, message, hint }: CubbyError): string => {
  const text = ownHints[code] ?? (hint === undefined ? undefined : hintText(hint, shell))
  return text === undefined ? message : `${message} ${text}`
}
