import { CubbyError } from '../../core/errors.ts'
import { waitSecondsMax } from '../../core/limits.ts'
import { isFinished, type RunStatus, runStatuses } from '../../core/tasks/run.ts'
import type { TaskAddress } from '../../operations/access.ts'
import { type Flag, jsonFlag, parseCount, UsageError } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { printJson, printLine, printNote } from '../print.ts'
import { dbFlag, ifMatchFlag, requireRunId } from '../target/address.ts'
import { openRemote, type Remote, remoteFlags, requestOf } from '../target/remote.ts'
import { declarationFlags, newRunFlags, parseDeclared, parseNewRun, taskAddress } from '../target/task-flags.ts'
import { ifAbsentFlag, parseConditions } from '../target/write-flags.ts'
import { showCount } from '../transfer/progress-line.ts'
import { countRuns, printRuns, printRunsAsJson, type RunListing } from '../transfer/run-list.ts'
import { changeEachRun } from '../transfer/runs-by-status.ts'
import { setPaused } from '../transfer/set-paused.ts'
import { printObject } from '../transfer/write-lines.ts'
import { describeCommand, dropCommand, listCommand, restoreCommand, verbCommand, wordsOf } from '../verb-command.ts'

// The routes of tasks and of their runs, for the shell. Workers and receivers of pushes are programs: see the client.

/** `--url` and `--key` are those of the server: the members of these names have other flags. */
const namingFlag = async <T>(member: 'url' | 'key', flag: string, answer: Promise<T>): Promise<T> => {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof CubbyError) || error.field !== member) throw error
    const { code, message, field, hint } = error
    throw new CubbyError(code, message.replace(new RegExp(`^${member}\\b`), flag), { field, hint })
  }
}

const declareCommand: CliCommand = {
  ...wordsOf('declareTask', '--push-to https://example.com/mail --attempts 5'),
  details: `The whole declaration is replaced: what is not given gets its default, also --push-to, --authorization, --on
and the schedule. Its runs stay. The answer that first has a URL has the secret that signs pushes; it is shown
this once. To change nothing but paused: cubby tasks pause, cubby tasks resume.`,
  flags: {
    db: dbFlag,
    ...declarationFlags,
    'if-match': { ...ifMatchFlag, help: 'only if its updatedAt is this; *: only if the task exists' },
    'if-absent': ifAbsentFlag('task'),
    ...remoteFlags,
  },
  async run(args) {
    const call = requestOf('declareTask', taskAddress(args))
    const written = { body: parseDeclared(args), headers: parseConditions(args) }
    // The request is not repeated: the second response would not have the secret.
    const request = openRemote(args).request({ ...call, ...written, repeatable: false })
    const answer = await namingFlag('url', '--push-to', request)
    await printObject(answer)
    if (JSON.parse(answer).secret !== undefined) printNote('cubby: keep the secret: it is shown only this once')
    return 0
  },
}

const pauseCommand = (name: string, paused: boolean, summary: string, details: string): CliCommand => ({
  name,
  positionals: ['TASK'],
  summary,
  details,
  example: `cubby ${name} mail --db app`,
  flags: { db: dbFlag, ...remoteFlags },
  async run(args) {
    await printObject(await setPaused(openRemote(args), taskAddress(args), paused))
    return 0
  },
})

interface ShownRun {
  id: string
  status: RunStatus
  error: { code: string; message: string } | null
}

/** A server that stops answers at once. It is not asked more often than this either. */
const pollEveryMs = 1_000

/** Waits until the run is finished, and prints it. The exit code says whether it has succeeded. */
const waitForRun = async (remote: Remote, address: TaskAddress, first: string): Promise<number> => {
  let text = first
  let run: ShownRun = JSON.parse(text)
  while (!isFinished(run)) {
    const askedAtMs = performance.now()
    const call = requestOf('getRun', { ...address, run: run.id, waitSeconds: waitSecondsMax })
    text = await remote.request({ ...call, repeatable: true })
    run = JSON.parse(text)
    const restMs = pollEveryMs - (performance.now() - askedAtMs)
    if (!isFinished(run) && restMs > 0) await Bun.sleep(restMs)
  }
  await printObject(text)
  if (run.status === 'succeeded') return 0
  const reason = run.error === null ? '' : `: ${run.error.code}: ${run.error.message}`
  printNote(`cubby: the run ${run.id} ${run.status === 'failed' ? 'has failed' : 'was cancelled'}${reason}`)
  return 1
}

const waitFlag: Flag = { type: 'boolean', help: 'wait until the run is finished; exit 1 unless it has succeeded' }

const runCommand: CliCommand = {
  ...wordsOf('runTask', `--payload '{"to":"ada@example.com"}' --wait`),
  details: `Prints the run. With an --id that exists already, that run, if it has the same payload; with a --run-key of
which a run is queued, that run with the new payload.`,
  flags: { db: dbFlag, ...newRunFlags, wait: waitFlag, ...remoteFlags },
  async run(args) {
    const address = taskAddress(args)
    const body = await parseNewRun(args)
    const remote = openRemote(args)
    const repeatable = args.text('id') !== undefined
    const request = remote.request({ ...requestOf('runTask', address), body, repeatable })
    const answer = await namingFlag('key', '--run-key', request)
    if (args.flag('wait')) return waitForRun(remote, address, answer)
    await printObject(answer)
    return 0
  },
}

const runsCommand: CliCommand = {
  ...wordsOf('queryRuns', '--status failed'),
  details: 'One run per line, the one that changed last first. --json prints the whole runs.',
  flags: {
    db: dbFlag,
    status: { type: 'string', value: 'STATUS', help: `only ${runStatuses.slice(0, -1).join(', ')} or cancelled ones` },
    limit: { type: 'string', value: 'N', help: 'at most this many runs', default: '100' },
    oldest: { type: 'boolean', help: 'the one that changed longest ago first' },
    count: { type: 'boolean', help: 'print how many there are in all' },
    ...remoteFlags,
    json: { ...jsonFlag, help: 'print JSON, one run per line' },
  },
  async run(args) {
    const status = args.text('status')
    const listing: RunListing = {
      ...taskAddress(args),
      status: status === undefined ? undefined : parseStatus(status, runStatuses),
      oldestFirst: args.flag('oldest'),
      runsMax: parseCount(args, 'limit', 1, 1_000_000_000),
    }
    const unused = args.flag('count') ? ['limit', 'oldest', 'json'].find((flag) => args.isGiven(flag)) : undefined
    if (unused !== undefined) throw new UsageError(`--count and --${unused} cannot be combined`)
    const remote = openRemote(args)
    if (args.flag('count')) printLine(String(await countRuns(remote, listing)))
    else await (args.flag('json') ? printRunsAsJson : printRuns)(remote, listing)
    return 0
  },
}

const parseStatus = (text: string, statuses: readonly RunStatus[]): RunStatus => {
  const status = statuses.find((known) => known === text)
  if (status !== undefined) return status
  throw new UsageError(`--status is "${text}"; it takes ${statuses.join(', ')}`)
}

/** Changes the runs that are named, or with --status all that have this status. */
const byStatus = (
  id: 'retryRun' | 'cancelRun',
  done: string,
  statuses: readonly RunStatus[],
  differences: { details: string; repeatable?: true },
): CliCommand => {
  const named = verbCommand(id, differences)
  return {
    ...named,
    positionals: ['TASK', '[RUN]...'],
    example: `cubby ${named.name} mail --status ${statuses[0]} --db app`,
    flags: {
      db: dbFlag,
      status: { type: 'string', value: 'STATUS', help: `all runs that are ${statuses.join(' or ')}` },
      json: { ...jsonFlag, help: 'with --status: print the counts as JSON' },
      ...remoteFlags,
    },
    async run(args) {
      const text = args.text('status')
      if (args.positionals.length > 1) {
        const unused = ['status', 'json'].find((flag) => args.isGiven(flag))
        if (unused !== undefined) throw new UsageError(`RUN and --${unused} cannot be combined`)
        return named.run(args)
      }
      if (text === undefined) throw new UsageError(`RUN is missing; name runs, or give --status ${statuses[0]}`)
      const status = parseStatus(text, statuses)
      const listing = { ...taskAddress(args), status, oldestFirst: false, runsMax: Number.POSITIVE_INFINITY }
      const counts = { changed: 0, skipped: 0 }
      const summary = (): string => {
        const skipped = counts.skipped === 0 ? '' : `; skipped ${counts.skipped} that changed meanwhile`
        return `${done} ${showCount(counts.changed, 'run')} of ${listing.task}${skipped}`
      }
      try {
        await changeEachRun(openRemote(args), { id, repeatable: differences.repeatable === true }, listing, counts)
      } catch (error) {
        if (counts.changed > 0) printNote(`cubby: ${summary()}, before it failed`)
        throw error
      }
      if (args.flag('json')) printJson({ [done]: counts.changed, skipped: counts.skipped })
      else printLine(summary())
      return 0
    },
  }
}

const getCommand: CliCommand = {
  ...wordsOf('getRun'),
  flags: { db: dbFlag, wait: waitFlag, ...remoteFlags },
  async run(args) {
    const run = requireRunId(args.positionals[1]!, 'RUN')
    const address = taskAddress(args)
    const remote = openRemote(args)
    const answer = await remote.request({ ...requestOf('getRun', { ...address, run }), repeatable: true })
    if (args.flag('wait')) return waitForRun(remote, address, answer)
    await printObject(answer)
    return 0
  },
}

export const tasksCommands: CliCommand[] = [
  declareCommand,
  listCommand(
    'task',
    `One task per line: its state, since when its oldest due run has been waiting, when its schedule runs next, and
where its runs are pushed.`,
  ),
  describeCommand('task'),
  pauseCommand(
    'tasks pause',
    true,
    'pause a task: runs may be added, but none is started',
    `Attempts that are running go on. Times of the schedule that pass meanwhile create no run. The rest of the
declaration stays as it is.`,
  ),
  pauseCommand(
    'tasks resume',
    false,
    'resume a paused task',
    'Runs that are due start. The rest of the declaration stays as it is.',
  ),
  verbCommand('createTaskSecret', {
    details:
      'Prints the new secret, this once. The one before signs too for 24 hours, so that receivers can change over.',
    flags: { 'revoke-old': { type: 'boolean', help: 'only the new secret signs, from now on' } },
    body: (args) => (args.flag('revoke-old') ? '{"revokeOld":true}' : undefined),
  }),
  dropCommand('task', 'runs'),
  restoreCommand('task', ' Its runs continue.'),
  runCommand,
  runsCommand,
  getCommand,
  byStatus('retryRun', 'retried', ['failed', 'succeeded', 'cancelled'], {
    details: `Prints each run. For one that cannot be retried it says why, goes on with the others, and exits with 1.
With --status instead of runs it retries all runs of the task that have this status, and prints how many.
Runs that got another status meanwhile are skipped.`,
  }),
  byStatus('cancelRun', 'cancelled', ['queued', 'running'], {
    details: `Prints each run. For one that has finished it says so, goes on with the others, and exits with 1. Nothing
of an attempt that is running is accepted any more.
With --status instead of runs it cancels all runs of the task that have this status, and prints how many.
Runs that got another status meanwhile are skipped.`,
    // A run that is cancelled already stays so; a repeated retry would be refused.
    repeatable: true,
  }),
]
