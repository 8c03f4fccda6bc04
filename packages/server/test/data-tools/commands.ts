import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import {
  type CommandResult,
  cubbyCommand,
  type Json,
  type Organization,
  type Server,
  storeArguments,
} from '../harness.ts'

// The commands as a shell runs them, with what they read on standard input.

type Environment = Record<string, string | undefined>

export interface RunOptions {
  env?: Environment
  stdin?: string | Uint8Array
}

/** The environment of the test run must not reach the command. */
const environment = (own: Environment): Environment => {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('CUBBY_') && name !== 'NODE_ENV')
  return { ...Object.fromEntries(kept), ...own }
}

export interface RunningCommand {
  kill(signal: NodeJS.Signals): void
  readonly result: Promise<CommandResult>
}

export const startCommand = (args: string[], { env = {}, stdin }: RunOptions = {}): RunningCommand => {
  const child = Bun.spawn([...cubbyCommand(), ...args], {
    stdin: stdin === undefined ? 'ignore' : Buffer.from(stdin as string),
    stdout: 'pipe',
    stderr: 'pipe',
    env: environment(env),
  })
  const result = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]).then(
    ([stdout, stderr, exitCode]) => {
      // A command tells a person at a shell what the server said, in the words of the shell.
      if (/\/v1\/|\b(?:GET|PUT|POST|DELETE) \/|Retry-After/.test(stderr)) throw new Error(`speaks HTTP: ${stderr}`)
      return { stdout, stderr, exitCode }
    },
  )
  return { kill: (signal) => child.kill(signal), result }
}

export const runCommand = (args: string[], options?: RunOptions): Promise<CommandResult> =>
  startCommand(args, options).result

/** A success; its standard output. */
export const expectDone = async (args: string[], options?: RunOptions): Promise<string> => {
  const { exitCode, stdout, stderr } = await runCommand(args, options)
  if (exitCode !== 0) throw new Error(`cubby ${args.join(' ')} exited ${exitCode}: ${stderr}`)
  return stdout
}

/** The variables that a command needs to speak with the server as this organization. */
export const asClient = (server: Pick<Server, 'url'>, { secretKey }: Pick<Organization, 'secretKey'>): Environment => ({
  CUBBY_URL: server.url,
  CUBBY_KEY: secretKey,
})

/** The flags for the store itself. */
export const asOperator = (dataDir: string, { name }: Pick<Organization, 'name'>): string[] => [
  ...storeArguments(dataDir),
  '--org',
  name,
]

export interface ExportLine {
  db: string
  table: string
  indices?: Json
  hashKey?: string
  rangeKey?: string
  data?: Json
  ttl?: number
  updatedAt?: number
}

export const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')
export const parseLines = (text: string): ExportLine[] => linesOf(text).map((line) => JSON.parse(line))

export const readText = (file: string): string => {
  const bytes = readFileSync(file)
  return (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
}

/** Removes the times of writing, which differ over HTTP. */
export const withoutTimes = (text: string): string => text.replaceAll(/,"updatedAt":\d+\}$/gm, '}')

export const writeLines = (file: string, lines: (string | object)[]): string => {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  writeFileSync(file, `${texts.join('\n')}\n`)
  return file
}
