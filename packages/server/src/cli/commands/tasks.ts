import { CubbyError, type ErrorCode } from '../../core/errors.ts'
import { runStatuses } from '../../core/tasks/run.ts'
import { cancelRunOperation } from '../../operations/runs/cancel-run.ts'
import { getRunOperation } from '../../operations/runs/get-run.ts'
import { queryRunsOperation } from '../../operations/runs/query-runs.ts'
import { retryRunOperation } from '../../operations/runs/retry-run.ts'
import { runTaskOperation } from '../../operations/runs/run-task.ts'
import { createTaskSecretOperation } from '../../operations/tasks/create-task-secret.ts'
import { declareTaskOperation } from '../../operations/tasks/declare-task.ts'
import { deleteTaskOperation } from '../../operations/tasks/delete-task.ts'
import { describeTaskOperation } from '../../operations/tasks/describe-task.ts'
import { listTasksOperation } from '../../operations/tasks/list-tasks.ts'
import { restoreTaskOperation } from '../../operations/tasks/restore-task.ts'
import { type Arguments, type Flag, jsonFlag, parseCount, UsageError } from '../arguments.ts'
import { type CliCommand, summaryOf } from '../command.ts'
import { errorLine } from '../hint-text.ts'
import { printNote } from '../print.ts'
import { checkName, dbFlag, ifMatchFlag, requireName } from '../target/address.ts'
import { declarationFlags, parseDeclared } from '../target/declaration.ts'
import { deletedAtFlag, restoreBody } from '../target/lifecycle.ts'
import { namingFlag } from '../target/naming-flag.ts'
import { type Call, openRemote, remoteFlags } from '../target/remote.ts'
import { newRunFlags, parseNewRun, requireRunId, runPath, taskPath } from '../target/run-address.ts'
import { ifAbsentFlag, parseConditions } from '../target/write-flags.ts'
import { printObject } from '../transfer/print-object.ts'
import { printRunCount, printRuns, printRunsAsJson, type RunListing } from '../transfer/run-list.ts'
import { setPaused } from '../transfer/set-paused.ts'
import { printTasks, printTasksAsJson } from '../transfer/task-list.ts'
import { waitForRun } from '../transfer/wait-for-run.ts'

// The routes of tasks and of their runs, for the shell. Workers and receivers of pushes are programs: see the client.

const printTask = async (args: Arguments, call: Call): Promise<number> => {
  await printObject(await openRemote(args).request(call))
  return 0
}

export const tasksDeclareCommand: CliCommand = {
  name: 'tasks declare',
  positionals: ['TASK'],
  summary: summaryOf(declareTaskOperation),
  details: `The whole declaration is replaced: what is not given gets its default, also --push-to, --authorization and the
schedule. Its runs stay. The answer that first has a URL has the secret that signs pushes; it is shown this
once. To change nothing but paused: cubby tasks pause, cubby tasks resume.`,
  flags: {
    db: dbFlag,
    ...declarationFlags,
    'if-match': { ...ifMatchFlag, help: 'only if its updatedAt is this; *: only if the task exists' },
    'if-absent': ifAbsentFlag('task'),
    ...remoteFlags,
  },
  async run(args) {
    const call = { path: taskPath(args), body: parseDeclared(args), headers: parseConditions(args) }
    // Not repeated: the second answer would not have the secret.
    const request = openRemote(args).request({ ...call, method: 'PUT', repeatable: false })
    const answer = await namingFlag('url', '--push-to', request)
    await printObject(answer)
    if (JSON.parse(answer).secret !== undefined) printNote('cubby: keep the secret: it is shown only this once')
    return 0
  },
}

export const tasksListCommand: CliCommand = {
  name: 'tasks list',
  summary: summaryOf(listTasksOperation),
  details: `One task per line: its state, since when its oldest due run has been waiting, when its schedule runs next, and
where its runs are pushed. --json prints the whole declaration of each.`,
  flags: {
    db: dbFlag,
    deleted: { type: 'boolean', help: 'list the deleted tasks that can still be restored' },
    ...remoteFlags,
    json: { ...jsonFlag, help: 'print JSON, one task per line' },
  },
  async run(args) {
    const listing = { db: requireName(args, 'db'), deleted: args.flag('deleted') }
    await (args.flag('json') ? printTasksAsJson : printTasks)(openRemote(args), listing)
    return 0
  },
}

export const tasksDescribeCommand: CliCommand = {
  name: 'tasks describe',
  positionals: ['TASK'],
  summary: summaryOf(describeTaskOperation),
  flags: { db: dbFlag, ...remoteFlags },
  run: async (args) => printTask(args, { method: 'GET', path: taskPath(args), repeatable: true }),
}

const pauseCommand = (name: string, paused: boolean, summary: string, details: string): CliCommand => ({
  name,
  positionals: ['TASK'],
  summary,
  details,
  flags: { db: dbFlag, ...remoteFlags },
  async run(args) {
    await printObject(await setPaused(openRemote(args), taskPath(args), paused))
    return 0
  },
})

export const tasksPauseCommand = pauseCommand(
  'tasks pause',
  true,
  'pause a task: runs may be added, but none is started',
  `Attempts that are running go on. Times of the schedule that pass meanwhile create no run. The rest of the
declaration stays as it is.`,
)

export const tasksResumeCommand = pauseCommand(
  'tasks resume',
  false,
  'resume a paused task',
  'Runs that are due start. The rest of the declaration stays as it is.',
)

export const tasksSecretCommand: CliCommand = {
  name: 'tasks secret',
  positionals: ['TASK'],
  summary: summaryOf(createTaskSecretOperation),
  details:
    'Prints the new secret, this once. The one before signs too for 24 hours, so that receivers can change over.',
  flags: {
    db: dbFlag,
    'revoke-old': { type: 'boolean', help: 'only the new secret signs, from now on' },
    ...remoteFlags,
  },
  async run(args) {
    const body = args.flag('revoke-old') ? '{"revokeOld":true}' : undefined
    return printTask(args, { method: 'POST', path: `${taskPath(args)}/secret`, body, repeatable: false })
  },
}

export const tasksDropCommand: CliCommand = {
  name: 'tasks drop',
  positionals: ['TASK'],
  summary: summaryOf(deleteTaskOperation),
  details: 'Restore it, with all its runs, with cubby tasks restore.',
  flags: { db: dbFlag, ...remoteFlags },
  run: async (args) => printTask(args, { method: 'DELETE', path: taskPath(args), repeatable: false }),
}

export const tasksRestoreCommand: CliCommand = {
  name: 'tasks restore',
  positionals: ['TASK'],
  summary: summaryOf(restoreTaskOperation),
  details: 'A task can be restored for 7 days after it was deleted. Its runs continue.',
  flags: { db: dbFlag, 'deleted-at': deletedAtFlag('task'), ...remoteFlags },
  async run(args) {
    const path = `${taskPath(args)}/restore`
    const body = restoreBody(args, 'cubby tasks list --deleted --json')
    return printTask(args, { method: 'POST', path, body, repeatable: false })
  },
}

const waitFlag: Flag = { type: 'boolean', help: 'wait until the run is finished; exit 1 unless it has succeeded' }

export const tasksRunCommand: CliCommand = {
  name: 'tasks run',
  positionals: ['TASK'],
  summary: summaryOf(runTaskOperation),
  details: `Prints the run. With an --id that exists already, that run, if it has the same payload; with a --run-key of
which a run is queued, that run with the new payload.`,
  flags: { db: dbFlag, ...newRunFlags, wait: waitFlag, ...remoteFlags },
  async run(args) {
    const path = taskPath(args)
    const body = await parseNewRun(args)
    const remote = openRemote(args)
    const repeatable = args.text('id') !== undefined
    const request = remote.request({ method: 'POST', path: `${path}/run`, body, repeatable })
    const answer = await namingFlag('key', '--run-key', request)
    if (args.flag('wait')) return waitForRun(remote, runPath(args, JSON.parse(answer).id), answer)
    await printObject(answer)
    return 0
  },
}

export const tasksRunsCommand: CliCommand = {
  name: 'tasks runs',
  positionals: ['TASK'],
  summary: summaryOf(queryRunsOperation),
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
    const listing: RunListing = {
      db: requireName(args, 'db'),
      task: checkName(args.positionals[0]!, 'TASK'),
      status: parseStatus(args.text('status')),
      oldestFirst: args.flag('oldest'),
      runsMax: parseCount(args, 'limit', 1, 1_000_000_000),
    }
    const unused = args.flag('count') ? ['limit', 'oldest', 'json'].find((flag) => args.isGiven(flag)) : undefined
    if (unused !== undefined) throw new UsageError(`--count and --${unused} cannot be combined`)
    const remote = openRemote(args)
    if (args.flag('count')) await printRunCount(remote, listing)
    else await (args.flag('json') ? printRunsAsJson : printRuns)(remote, listing)
    return 0
  },
}

const parseStatus = (text: string | undefined): RunListing['status'] => {
  const status = runStatuses.find((known) => known === text)
  if (text === undefined || status !== undefined) return status
  throw new UsageError(`--status is "${text}"; it takes ${runStatuses.join(', ')}`)
}

export const tasksGetCommand: CliCommand = {
  name: 'tasks get',
  positionals: ['TASK', 'RUN'],
  summary: summaryOf(getRunOperation),
  flags: { db: dbFlag, wait: waitFlag, ...remoteFlags },
  async run(args) {
    const path = runPath(args, requireRunId(args.positionals[1]!, 'RUN'))
    const remote = openRemote(args)
    const answer = await remote.request({ method: 'GET', path, repeatable: true })
    if (args.flag('wait')) return waitForRun(remote, path, answer)
    await printObject(answer)
    return 0
  },
}

/** One run cannot be changed; the others may. */
const ofOneRun: ErrorCode[] = ['run_not_found', 'run_finished', 'run_exists']

const changeRuns = async (args: Arguments, verb: 'retry' | 'cancel'): Promise<number> => {
  const paths = args.positionals.slice(1).map((id) => runPath(args, requireRunId(id, 'RUN')))
  const remote = openRemote(args)
  let exitCode = 0
  for (const path of paths) {
    // A cancel of a run that is cancelled already succeeds; a repeated retry would be refused.
    const call = { method: 'POST', path: `${path}/${verb}`, repeatable: verb === 'cancel' } as const
    try {
      await printObject(await remote.request(call))
    } catch (error) {
      if (!(error instanceof CubbyError && ofOneRun.includes(error.code))) throw error
      printNote(`cubby: ${errorLine(error)}`)
      exitCode = 1
    }
  }
  return exitCode
}

export const tasksRetryCommand: CliCommand = {
  name: 'tasks retry',
  positionals: ['TASK', 'RUN...'],
  summary: summaryOf(retryRunOperation),
  details: `Prints each run. For one that cannot be retried it says why, goes on with the others, and exits with 1.
To retry all that have failed, with the database in CUBBY_DB:
cubby tasks runs TASK --status failed --limit 1000000 --json | jq -r .id | xargs -r cubby tasks retry TASK`,
  flags: { db: dbFlag, ...remoteFlags },
  run: (args) => changeRuns(args, 'retry'),
}

export const tasksCancelCommand: CliCommand = {
  name: 'tasks cancel',
  positionals: ['TASK', 'RUN...'],
  summary: summaryOf(cancelRunOperation),
  details: `Prints each run. For one that has finished it says so, goes on with the others, and exits with 1. Nothing
of an attempt that is running is accepted any more.`,
  flags: { db: dbFlag, ...remoteFlags },
  run: (args) => changeRuns(args, 'cancel'),
}
