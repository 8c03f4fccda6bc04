import { createTaskSecretOperation } from '../../operations/tasks/create-task-secret.ts'
import { declareTaskOperation } from '../../operations/tasks/declare-task.ts'
import { deleteTaskOperation } from '../../operations/tasks/delete-task.ts'
import { describeTaskOperation } from '../../operations/tasks/describe-task.ts'
import { listTasksOperation } from '../../operations/tasks/list-tasks.ts'
import { restoreTaskOperation } from '../../operations/tasks/restore-task.ts'
import { type Arguments, jsonFlag } from '../arguments.ts'
import { type CliCommand, summaryOf } from '../command.ts'
import { printNote } from '../print.ts'
import { dbFlag, ifMatchFlag, requireName } from '../target/address.ts'
import { declarationFlags, parseDeclared } from '../target/declaration.ts'
import { deletedAtFlag, restoreBody } from '../target/lifecycle.ts'
import { namingFlag } from '../target/naming-flag.ts'
import { type Call, openRemote, remoteFlags } from '../target/remote.ts'
import { taskPath } from '../target/run-address.ts'
import { ifAbsentFlag, parseConditions } from '../target/write-flags.ts'
import { printObject } from '../transfer/print-object.ts'
import { setPaused } from '../transfer/set-paused.ts'
import { printTasks, printTasksAsJson } from '../transfer/task-list.ts'

// The routes of tasks, for the shell. Those of runs are in task-runs.ts.

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
