import { CubbyError } from '../../core/errors.ts'
import { call } from '../../core/hint.ts'
import type { Run } from '../../core/tasks/run.ts'
import { isRunId } from '../../core/tasks/run-id.ts'
import type { RunChange } from '../../store/runs.ts'
import type { Table } from '../../store/tables.ts'
import type { Access, TaskAddress } from '../access.ts'
import { requireTask, requireTaskOrDeleted, writeIn } from '../lifecycle.ts'

export interface RunAddress extends TaskAddress {
  /** The id as it was sent: no run has a malformed id, so it is not found. */
  run: string
}

/** A run and the name of its task, which the row of a run does not have. */
export interface RunOutput {
  task: string
  run: Run
}

export const runNotFound = ({ db, task, run }: RunAddress, field?: string): CubbyError =>
  new CubbyError('run_not_found', `The task ${task} has no run ${JSON.stringify(run.slice(0, 80).toWellFormed())}.`, {
    field,
    hint: [
      'It may have been removed when its time to be kept was over. Look for runs: ',
      call('queryRuns', { db, task }),
    ],
  })

export const leaseLost = (field = 'lease'): CubbyError =>
  new CubbyError(
    'lease_lost',
    'The lease is not that of the running attempt, or it has expired; nothing was changed.',
    {
      field,
      hint: 'Stop this attempt: another one may have begun, or the run was cancelled. Extend the lease earlier next time.',
    },
  )

/** Refuses an add because another run has the id. */
export const idTaken = (run: Run, field = 'id'): CubbyError =>
  new CubbyError('run_exists', `The run "${run.id}" exists with another payload; nothing was changed.`, {
    field,
    hint: 'Use another id, or send the same payload to repeat the call.',
  })

/** The changed run, or the error for the reason of the refusal. `refused`: why a verb does not change a run in this state. */
const changedRun = (address: RunAddress, change: RunChange, refused?: (run: Run) => CubbyError): Run => {
  if (!('refused' in change)) return change.run
  if (change.refused === 'missing') throw runNotFound(address)
  throw 'run' in change && refused !== undefined ? refused(change.run) : leaseLost()
}

/** Tells whether the caller may know of the run: a user knows the runs that this user has added. */
export const isOwn = ({ apiKey: { user } }: Access, run: Pick<Run, 'user'>): boolean =>
  user === undefined || run.user === user.name

/** The task, and the run that it may have. */
const requireTaskOf = async (access: Access, address: RunAddress, nowMs: number): Promise<Table> => {
  const task = await requireTask(access, address, nowMs)
  if (!isRunId(address.run)) throw runNotFound(address)
  if (access.apiKey.user === undefined) return task
  const run = await access.engine.runs.get(task, address.run, nowMs)
  if (run === undefined || !isOwn(access, run)) throw runNotFound(address)
  return task
}

/** A change of a run of an active task. Tells the process about it. `refused` as in `changedRun`. */
export const changeRun = async (
  access: Access,
  address: RunAddress,
  nowMs: number,
  change: (task: Table) => Promise<RunChange>,
  refused: (run: Run) => CubbyError,
): Promise<RunOutput> => {
  const task = await requireTaskOf(access, address, nowMs)
  const run = changedRun(address, await writeIn('task', access, address, nowMs, () => change(task)), refused)
  access.tasks.signals.changed(task.id)
  return { task: address.task, run }
}

/**
 * Applies a change of a lease's holder. An attempt goes on while the task is deleted, even if another task had or has its name
 * since.
 */
export const changeAttempt = async (
  access: Access,
  address: RunAddress,
  nowMs: number,
  change: (task: Table) => Promise<RunChange>,
): Promise<{ task: Table; run: Run }> => {
  const task = await requireTaskOrDeleted(access, address, nowMs)
  if (!isRunId(address.run)) throw runNotFound(address)
  const changeIn = (one: Table): Promise<RunChange> => writeIn('task', access, address, nowMs, () => change(one))
  const changed = await changeIn(task)
  const deleted = 'refused' in changed ? await findDeletedWithRun(access, address, task, nowMs) : undefined
  if (deleted !== undefined && 'refused' in changed) {
    const there = await changeIn(deleted)
    // The caller names the active task: its refusal counts, unless it does not have the run and the deleted one has.
    const counts = !('refused' in there) || (changed.refused === 'missing' && there.refused !== 'missing')
    if (counts) return { task: deleted, run: changedRun(address, there) }
  }
  return { task, run: changedRun(address, changed) }
}

/** Deleted tasks of this name that can still be restored, newest first. At most 25 are searched. */
const deletedTasksMax = 25

/** The task of this name that was deleted last and has the run, `but` aside. */
export const findDeletedWithRun = async (
  { engine, apiKey }: Access,
  { db, task, run }: RunAddress,
  but: Table,
  nowMs: number,
): Promise<Table | undefined> => {
  const listing = { orgId: apiKey.orgId, db, after: { name: task, deletedAtMs: 0 }, limit: deletedTasksMax }
  const deleted = (await engine.tasks.listDeleted(listing, nowMs)).filter(
    ({ name, id }) => name === task && id !== but.id,
  )
  for (const one of deleted.reverse()) {
    if ((await engine.runs.get(one, run, nowMs)) !== undefined) return one
  }
  return undefined
}
