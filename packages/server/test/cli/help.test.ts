import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { parseArguments } from '../../src/cli/arguments.ts'
import { commands as declared } from '../../src/cli/run.ts'
import { findOperation, type OperationId } from '../../src/operations/catalogue.ts'
import { type CommandResult, makeTempDir, removeTempDir, runCubby, typedCommand } from '../harness.ts'
import { runHere } from './run-here.ts'

setDefaultTimeout(120_000)

const store = ['--data DIR', '--store URL']
const server = ['--url URL', '--key APIKEY']
const table = ['--db NAME', '--table NAME']
const commands: Record<string, string[]> = {
  serve: [
    ...store,
    ...[
      '--host',
      '--port',
      '--public-url URL',
      '--files PLACE',
      '--pool-size',
      '--statement-timeout',
      '--workers',
      '--archive DIR',
      '--no-console',
      '--no-bootstrap',
      '--log',
      '--log-slow MS',
      '--metrics HOST:PORT',
    ],
  ],
  health: ['--url URL', '--host H', '--port P', '--live', '--timeout MS'],
  'orgs create': [...store, '--json'],
  'orgs list': [...store, '--json'],
  'orgs delete': [...store, '--confirm NAME', '--json'],
  'orgs restore': [...store, '--json'],
  'orgs export': [...store, '--to DIR', '--files PLACE', '--without-files', '--json'],
  'keys create': [...store, '--org NAME', '--kind', '--name', '--expires-at', '--databases', '--json'],
  'keys list': [...store, '--org NAME', '--json'],
  'keys roll': [...store, '--org NAME', '--overlap TIME', '--json'],
  'keys revoke': [...store, '--org NAME', '--json'],
  'tokens create': ['--grants JSON', '--expires-in TIME', ...server],
  'tokens revoke': [...server],
  'issuers put': [...server],
  'issuers get': [...server],
  'issuers list': ['--json', ...server],
  'issuers delete': [...server],
  'console link': [...store, '--org NAME', '--url URL', '--json'],
  'secrets rotate': [...store, '--now', '--json'],
  compact: [...store, '--json'],
  verify: [...store, '--files PLACE', '--bytes', '--json'],
  stats: [...store, '--org NAME', '--db NAME', '--json'],
  'db list': [...server, '--json'],
  'table create': ['--db NAME', '--i1', '--i2', '--i3', '--i4', '--i5', '--changes TIME', '--indices JSON', ...server],
  'table list': ['--db NAME', '--deleted', '--json', ...server],
  'table describe': ['--db NAME', ...server],
  'table drop': ['--db NAME', ...server],
  'table restore': ['--db NAME', '--deleted-at', ...server],
  'table changes': ['--db NAME', '--keep TIME', ...server],
  get: [...table, ...server],
  put: [...table, '--data JSON', '--ttl', '--if-match', '--if-absent', ...server],
  patch: [...table, '--merge JSON', '--ttl', '--if-match', '--if-absent', ...server],
  delete: [...table, '--if-match', ...server],
  query: [
    ...table,
    ...['--index', '--hash', '--eq', '--lt', '--lte', '--gt', '--gte', '--begins-with', '--ascending', '--descending'],
    ...['--limit', '--all', '--cursor', '--page', ...server],
  ],
  changes: [...table, ...['--from', '--cursor', '--hash', '--select', '--follow', '--json', ...server]],
  'bucket create': ['--db NAME', ...server],
  'bucket list': ['--db NAME', '--deleted', '--json', ...server],
  'bucket describe': ['--db NAME', ...server],
  'bucket drop': ['--db NAME', ...server],
  'bucket restore': ['--db NAME', '--deleted-at', ...server],
  'files put': [
    ...['--db NAME', '--type', '--visibility', '--metadata JSON', '--ttl TIME', '--if-match', '--if-absent', ...server],
  ],
  'files get': ['--db NAME', '--out FILE, -o', '--force', ...server],
  'files list': ['--db NAME', '--prefix', '--folders', '--newest', '--limit N', '--json', ...server],
  'files url': [
    ...['--db NAME', '--expires TIME', '--download', '--download-as NAME', '--put', '--replace', '--size-max BYTES'],
    ...['--type', '--visibility', '--metadata JSON', '--ttl TIME', '--json', ...server],
  ],
  'files rm': ['--db NAME', '--if-match', ...server],
  'tasks declare': [
    ...[
      '--db NAME',
      '--push-to URL',
      '--authorization TEXT',
      '--lease-seconds N',
      '--attempts N',
      '--backoff-seconds N',
    ],
    ...['--concurrency N', '--keep-seconds N', '--paused', '--every SECONDS', '--cron PATTERN', '--timezone ZONE'],
    ...['--payload JSON', '--if-match', '--if-absent', ...server],
  ],
  'tasks list': ['--db NAME', '--deleted', '--json', ...server],
  'tasks describe': ['--db NAME', ...server],
  'tasks pause': ['--db NAME', ...server],
  'tasks resume': ['--db NAME', ...server],
  'tasks secret': ['--db NAME', '--revoke-old', ...server],
  'tasks drop': ['--db NAME', ...server],
  'tasks restore': ['--db NAME', '--deleted-at', ...server],
  'tasks run': [
    ...['--db NAME', '--payload JSON', '--id ID', '--run-key KEY', '--run-at TIME', '--delay-seconds N', '--wait'],
    ...server,
  ],
  'tasks runs': ['--db NAME', '--status STATUS', '--limit N', '--oldest', '--count', '--json', ...server],
  'tasks get': ['--db NAME', '--wait', ...server],
  'tasks retry': ['--db NAME', '--status STATUS', '--json', ...server],
  'tasks cancel': ['--db NAME', '--status STATUS', '--json', ...server],
  mcp: ['--read-only', '--db NAME', ...server],
  copy: ['--from STORE', '--to STORE', '--files PLACE', '--from-files PLACE', '--resume', '--json'],
  export: [...table, '--out FILE', '--force', ...server, ...store, '--org NAME', '--json'],
  import: [
    ...table,
    ...['--hash-key FIELD', '--range-key FIELD', '--format FORMAT', '--numbers A,B', '--delimiter CHAR'],
    ...['--strict', '--resume', '--from-line N', ...server, ...store, '--org NAME', '--json'],
  ],
  'backup create': [...store, '--files PLACE', '--without-files', '--json'],
  'backup restore': [...store, '--from DIR', '--at TIME', '--files PLACE', '--without-files', '--json'],
  'backup verify': ['--json'],
  'completion bash': [],
  'completion zsh': [],
  'completion fish': [],
}

const operationOf: Record<string, OperationId> = {
  'orgs create': 'createOrganization',
  'orgs list': 'listOrganizations',
  'orgs delete': 'deleteOrganization',
  'orgs restore': 'restoreOrganization',
  'keys create': 'createApiKey',
  'keys list': 'listApiKeys',
  'keys roll': 'rollApiKey',
  'keys revoke': 'revokeApiKey',
  'tokens create': 'createToken',
  'tokens revoke': 'revokeUser',
  'issuers put': 'putIssuer',
  'issuers get': 'getIssuer',
  'issuers list': 'listIssuers',
  'issuers delete': 'deleteIssuer',
  'db list': 'listDatabases',
  'table create': 'createTable',
  'table list': 'listTables',
  'table describe': 'describeTable',
  'table drop': 'deleteTable',
  'table restore': 'restoreTable',
  'table changes': 'keepChanges',
  get: 'getRecord',
  put: 'putRecord',
  patch: 'patchRecord',
  delete: 'deleteRecord',
  query: 'queryRecords',
  changes: 'readChanges',
  'bucket create': 'createBucket',
  'bucket list': 'listBuckets',
  'bucket describe': 'describeBucket',
  'bucket drop': 'deleteBucket',
  'bucket restore': 'restoreBucket',
  'files put': 'putFile',
  'files list': 'queryFiles',
  'files url': 'getFileUrl',
  'files rm': 'deleteFile',
  'tasks declare': 'declareTask',
  'tasks list': 'listTasks',
  'tasks describe': 'describeTask',
  'tasks secret': 'createTaskSecret',
  'tasks drop': 'deleteTask',
  'tasks restore': 'restoreTask',
  'tasks run': 'runTask',
  'tasks runs': 'queryRuns',
  'tasks get': 'getRun',
  'tasks retry': 'retryRun',
  'tasks cancel': 'cancelRun',
}

const expectReadable = ({ exitCode, stdout, stderr }: CommandResult) => {
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  for (const line of stdout.split('\n')) {
    expect(line.length).toBeLessThanOrEqual(110)
    expect(line).toBe(line.trimEnd())
  }
}

describe('--help', () => {
  for (const words of [['--help'], ['help'], ['-h']]) {
    test(`cubby ${words[0]} names every command`, async () => {
      const result = await runCubby(words)
      expectReadable(result)
      for (const name of Object.keys(commands)) expect(result.stdout).toContain(`  ${typedCommand} ${name} `)
      expect(result.stdout).toContain('CUBBY_DATA')
    })
  }

  for (const [name, flags] of Object.entries(commands)) {
    test(`cubby ${name} --help shows the call and each flag`, async () => {
      const result = await runHere([...name.split(' '), '--help'])
      expectReadable(result)
      expect(result.stdout.split('\n')[0]).toStartWith(`${typedCommand} ${name}`)
      for (const flag of flags) expect(result.stdout).toContain(`  ${flag}`)
    })
  }

  test('the overview names no other command', async () => {
    const { stdout } = await runHere(['--help'])
    const names = Array.from(
      stdout.matchAll(new RegExp(`^ +${typedCommand} ([a-z]+(?: [a-z]+)?)(?= |$)`, 'gm')),
      ([, name]) => name,
    )
    expect(names.sort()).toEqual(Object.keys(commands).sort())
  })

  // Otherwise the shell and the API would come to describe the same thing differently.
  test('a command that runs an operation is described as the operation is', async () => {
    const { stdout } = await runHere(['--help'])
    for (const [name, id] of Object.entries(operationOf)) {
      const { summary } = findOperation(id)!
      const [, shown] = new RegExp(`^ +${typedCommand} ${name}(?: \\S+)*?  +(\\S.*)$`, 'm').exec(stdout) ?? []
      expect([name, shown]).toEqual([name, summary[0]!.toLowerCase() + summary.slice(1)])
    }
  })

  test('every example is a call of its command that is not refused before it begins', () => {
    for (const command of declared) {
      const { name, example } = command
      const [, called] = new RegExp(`\\bcubby (${name}(?: .*)?)$`).exec(example.replace(/ \| source$|\)$/, '')) ?? []
      if (called === undefined) throw new Error(`the example of ${name} is ${example}`)
      const words = Array.from(called.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain!)
      parseArguments(command, words.slice(name.split(' ').length), {})
    }
  })

  test('the overview has each command under a heading, those with the same first word under the same', async () => {
    const { stdout } = await runHere(['--help'])
    const rows = stdout.split('\n').slice(2, -3)
    expect(rows.filter((row) => row !== '' && !row.startsWith(' '))).toHaveLength(9)
    const headings = new Map<string, string>()
    let heading = ''
    for (const row of rows) {
      if (!row.startsWith(' ')) heading = row || heading
      else {
        const word = row
          .trim()
          .slice(typedCommand.length + 1)
          .split(' ')[0]!
        expect([word, headings.get(word) ?? heading]).toEqual([word, heading])
        headings.set(word, heading)
      }
    }
    expect(headings.size).toBe(new Set(Object.keys(commands).map((name) => name.split(' ')[0])).size)
  })

  test('serve shows the defaults', async () => {
    const { stdout } = await runCubby(['serve', '--help'])
    for (const value of ['./cubby-data', '127.0.0.1', '4600', '(8)', '(5000)', '(1)']) expect(stdout).toContain(value)
  })
})

test('the first word of a command is the name of its file', () => {
  const files = readdirSync(join(import.meta.dir, '../../src/cli/commands'))
  const words = new Set(declared.map(({ name }) => `${name.split(' ')[0]}.ts`))
  expect(files.sort()).toEqual([...words].sort())
})

test('--version prints the version, exit 0', async () => {
  expect(await runCubby(['--version'])).toEqual({ exitCode: 0, stdout: `cubby ${packageJson.version}\n`, stderr: '' })
})

test('no command at all: the overview, exit 2', async () => {
  const { exitCode, stdout } = await runCubby([])
  expect(exitCode).toBe(2)
  expect(stdout).toContain(`${typedCommand} serve`)
})

test('half a command: the commands that begin like it, exit 2', async () => {
  const { exitCode, stdout, stderr } = await runCubby(['orgs'])
  expect(exitCode).toBe(2)
  expect(stdout + stderr).toContain('orgs')
})

describe('a mistake in the call: one line that names it, exit 2, nothing made', () => {
  const mistakes: [string[], string][] = [
    [['sevre'], '(did you mean serve?)'],
    [['order'], 'there is no command "order"; see'],
    [['tables', 'list'], '(did you mean table?)'],
    [['orgs', 'lst'], '(did you mean orgs list?)'],
    [['orgs', 'delete', 'acme'], 'orgs delete'],
    [['serve', '--prot', '1'], "'--prot' (did you mean --port?)"],
    [['serve', '--colour', 'red'], "'--colour'; see"],
    [['serve', '--port', 'http'], 'http'],
    [['serve', '--port', '65536'], '65536'],
    [['serve', '--port=-1'], '-1'],
    [['serve', '--port', '-1'], '--port'],
    [['serve', '--port'], '--port'],
    [['serve', '--log', 'all'], 'all'],
    [['serve', '--no-bootstrap=yes'], '--no-bootstrap'],
    [['serve', 'now'], 'now'],
    [['serve', '--workers', '0'], '--workers'],
    [['serve', '--pool-size', 'many'], '--pool-size'],
    [['serve', '--statement-timeout', '0'], '--statement-timeout'],
    [['serve', '--public-url', 'cubby.example.com'], 'cubby.example.com'],
    [['serve', '--public-url', 'ftp://cubby.example.com'], 'http or https'],
    [['serve', '--public-url', 'https://'], 'https://cubby.example.com'],
    [['serve', '--public-url', 'https://cubby.example.com/?a=1'], 'query'],
    [['serve', '--public-url', 'https://cubby.example.com#top'], 'fragment'],
    [['serve', '--public-url', 'https://me@cubby.example.com'], 'without user'],
    [['serve', '--public-url', 'https:cubby.example.com'], '--public-url'],
    [['health', '--url', 'cubby.example.com'], 'cubby.example.com'],
    [['health', '--url', 'http://127.0.0.1:1', '--port', '2'], '--url'],
    [['health', '--port', '0'], '--port'],
    [['health', '--timeout', '0'], '--timeout'],
    [['orgs', 'create'], 'NAME'],
    [['orgs', 'create', 'acme', 'other'], 'other'],
    [['orgs', 'create', 'Acme'], 'Acme'],
    [['orgs', 'list', '--yaml'], '--yaml'],
    [['keys', 'create'], '--kind'],
    [['keys', 'create', '--org', 'acme', '--kind', 'admin'], 'admin'],
    [['keys', 'create', '--org', 'acme', '--kind', 'secret', '--expires-at', 'tomorrow'], 'tomorrow'],
    [['keys', 'create', '--org', 'acme', '--kind', 'secret', '--expires-at', '1000'], 'past'],
    [['keys', 'create', '--org', 'acme', '--kind', 'secret', '--databases', 'App'], 'App'],
    [['keys', 'create', '--org', 'acme', '--kind', 'secret', '--databases', ''], 'databases'],
    [['keys', 'create', '--org', 'acme', '--kind', 'secret', '--name', 'x'.repeat(129)], 'name'],
    [['keys', 'revoke', '--org', 'acme'], 'ID'],
    [['tokens', 'create'], 'USER'],
    [['tokens', 'create', 'ada'], '--grants'],
    [['tokens', 'create', 'ada', '--grants', '[{'], '--grants is not JSON'],
    [['tokens', 'create', 'ada', '--grants', '[]', '--expires-in', '59s'], '1m to 1d'],
    [['issuers', 'put', 'login'], 'FILE'],
    [['issuers', 'get', '../keys'], 'NAME'],
    [['verify', 'everything'], 'everything'],
    [['copy', '--to', 'elsewhere'], '--from'],
    [['copy', '--from', 'here'], '--to'],
    [['copy', '--from', 'mysql://h/db', '--to', 'there'], 'postgres://'],
    [['serve', '--store', 'db.example.com'], 'postgres://'],
    [['verify', '--store', 'postgres://h/db?sslmode=perhaps'], 'sslmode'],
    [['backup', 'create'], 'FILE'],
    [['import'], 'FILE'],
    [['files', 'put', 'photos', '--db', 'app'], 'FILE'],
    [['files', 'put', 'photos', '-', '--db', 'app'], 'NAME'],
    [['files', 'put', 'Photos', 'a.png', '--db', 'app'], 'Photos'],
    [['files', 'put', 'photos', 'a.png'], '--db'],
    [['files', 'put', 'photos', '../a', 'a.png', '--db', 'app'], '".."'],
    [['files', 'put', 'photos', 'a.png', '--db', 'app', '--metadata', '[]'], '--metadata'],
    [['files', 'put', 'photos', 'a.png', '--db', 'app', '--visibility', 'all'], '--visibility'],
    [['files', 'put', 'photos', 'a.png', '--db', 'app', '--type', 'png'], '--type'],
    [['files', 'put', 'photos', 'a.png', '--db', 'app', '--if-absent', '--if-match', '1'], '--if-absent'],
    [['files', 'get', 'photos', 'a', 'b', '--db', 'app'], '"b"'],
    [['files', 'get', 'photos', 'a', '--db', 'app', '--force'], '--force'],
    [['files', 'get', 'photos', 'a', '--db', 'app', '-o', ''], '--out'],
    [['files', 'list', 'photos', '--db', 'app', '--limit', '0'], '--limit'],
    [['files', 'list', 'photos', '--db', 'app', '--prefix', 'a', '--newest'], '--newest'],
    [['files', 'list', 'photos', '--db', 'app', '--folders', '--newest'], '--folders'],
    [['files', 'url', 'photos', 'a', '--db', 'app', '--expires', '8d'], '--expires'],
    [['files', 'url', 'photos', 'a', '--db', 'app', '--expires', '0'], '--expires'],
    [['files', 'url', 'photos', 'a', '--db', 'app', '--size-max', '5'], '--put'],
    [['files', 'url', 'photos', 'a', '--db', 'app', '--put', '--size-max', '5368709121'], '--size-max'],
    [['files', 'url', 'photos', 'a', '--db', 'app', '--put', '--download'], '--download'],
    [['files', 'rm', 'photos', '--db', 'app'], 'NAME'],
    [['files', 'rm', 'photos', 'a', 'b', '--db', 'app', '--if-match', '1'], '--if-match'],
    [['tasks', 'declare', 'Mail', '--db', 'app'], 'Mail'],
    [['tasks', 'declare', 'mail', '--db', 'app', '--attempts', '0'], '--attempts'],
    [['tasks', 'declare', 'mail', '--db', 'app', '--keep-seconds', '59'], '--keep-seconds'],
    [['tasks', 'declare', 'mail', '--db', 'app', '--every', '60', '--cron', '* * * * *'], '--cron'],
    [['tasks', 'declare', 'mail', '--db', 'app', '--every', '60', '--timezone', 'UTC'], '--timezone'],
    [['tasks', 'declare', 'mail', '--db', 'app', '--payload', '{}'], '--payload'],
    [['tasks', 'declare', 'mail', '--db', 'app', '--every', '60', '--payload', '[]'], '--payload'],
    [['tasks', 'run', 'mail', '--db', 'app', '--payload', '{'], 'payload'],
    [['tasks', 'run', 'mail', '--db', 'app', '--id', 'a/b'], '--id'],
    [['tasks', 'run', 'mail', '--db', 'app', '--id', 'a', '--run-key', 'b'], '--run-key'],
    [['tasks', 'run', 'mail', '--db', 'app', '--run-at', 'tomorrow'], 'tomorrow'],
    [['tasks', 'run', 'mail', '--db', 'app', '--run-at', '5', '--delay-seconds', '5'], '--delay-seconds'],
    [['tasks', 'runs', 'mail', '--db', 'app', '--status', 'done'], 'succeeded'],
    [['tasks', 'runs', 'mail', '--db', 'app', '--count', '--json'], '--json'],
    [['tasks', 'get', 'mail', '../keys', '--db', 'app'], '../keys'],
    [['tasks', 'retry', 'mail', 'a', 'b/c', '--db', 'app'], 'b/c'],
    [['get', 'a', 'b', 'c', '--db', 'app', '--table', 'orders'], '"c"'],
    [['put', 'a', '--db', 'app', '--table', 'orders', '--ttl', 'tomorrow'], 'tomorrow'],
    [['put', 'a', '--db', 'app', '--table', 'orders', '--ttl', '60'], 'looks like a duration'],
    [['put', 'a', '--db', 'app', '--table', 'orders', '--ttl', '1767225600000'], 'milliseconds'],
    [['put', 'a', '--db', 'app', '--table', 'orders', '--ttl', '2001-01-01T00:00:00Z'], '2001'],
  ]
  /** These run as processes too, which must print and exit as the call in this process does. */
  const spawned = ['sevre', 'serve --prot 1', 'verify everything', 'files put photos - --db app']
  for (const [words, named] of mistakes) {
    test(`cubby ${words.join(' ')}`, async () => {
      const dir = makeTempDir()
      try {
        const env = { CUBBY_DATA: join(dir, 'data') }
        const result = await runHere(words, env)
        if (spawned.includes(words.join(' '))) expect(await runCubby(words, { env })).toEqual(result)
        const { exitCode, stdout, stderr } = result
        expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
        expect(stderr).toMatch(/^cubby: [^\n]+\n$/)
        expect(stderr).toContain(named)
        expect(existsSync(join(dir, 'data'))).toBe(false)
      } finally {
        removeTempDir(dir)
      }
    })
  }
})
