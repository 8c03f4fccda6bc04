import type { ComponentChildren } from 'preact'
import { agesNowMs } from '../../api/clock.ts'
import type { RunRow, RunStatus, TaskRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { showInstant } from '../../text/instant.ts'
import { age, Time } from '../../ui/time.tsx'

/** A waiting run of this age is worth a look. */
const longMs = 60_000

/** The time that the oldest due run has been waiting. */
export const Oldest = ({ at }: { at: number | null }) => {
  if (at === null) return <span class="muted">none waits</span>
  const words = age(at)
  const isLong = agesNowMs.value - at >= longMs
  return (
    <span class={isLong ? 'tag warn' : ''} title={showInstant(at).utc}>
      {isLong ? `waiting for ${words.replace(' ago', '')}` : words}
    </span>
  )
}

interface TaskStateProps {
  task: TaskRow
  /** The last failed attempt of a run that waits for the next one. */
  fault: RunRow['error']
  hasFailed: boolean
}

/** Healthy only if no attempt fails and nothing has failed. */
export const TaskState = ({ task: { paused, url }, fault, hasFailed }: TaskStateProps) => {
  if (paused) return <span class="tag warn">paused</span>
  if (fault !== null) {
    return (
      <span class="tag danger" title={fault.message}>
        {url === null ? 'attempts' : 'pushes'} fail: {fault.code}
      </span>
    )
  }
  return <span class={hasFailed ? 'tag' : 'tag ok'}>active</span>
}

/** A span in the largest unit that is exact. */
const secondsText = (seconds: number): string => {
  const units: [number, string][] = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
  ]
  const [size, unit] = units.find(([size]) => seconds % size === 0) ?? [1, 's']
  return `${seconds / size} ${unit}`
}

export const ScheduleText = ({ task: { schedule } }: { task: TaskRow }) => {
  if (schedule === null) return <span class="muted">none</span>
  const { nextRunAt } = schedule
  return (
    <>
      <code>
        {'every' in schedule ? `every ${secondsText(schedule.every)}` : `${schedule.cron} ${schedule.timezone}`}
      </code>{' '}
      {nextRunAt !== null && (
        <span class="muted nowrap">
          next <Time ms={nextRunAt} />
        </span>
      )}
    </>
  )
}

/** The table whose writes add runs. */
const FollowsText = ({ task: { db, on } }: { task: TaskRow }) => {
  if (on === null) return <span class="muted">no table</span>
  return (
    <>
      <a class="mono" href={hrefOf({ screen: 'table', db, table: on.table })}>
        {on.table}
      </a>
      <span class="muted">: {on.ops.join(', ')}</span>
    </>
  )
}

const looks: Record<RunStatus, string> = {
  queued: 'tag',
  running: 'tag running',
  succeeded: 'tag ok',
  failed: 'tag danger',
  cancelled: 'tag warn',
}

export const StatusTag = ({ status }: { status: RunStatus }) => <span class={looks[status]}>{status}</span>

/** The one number to watch, then how the task is declared. */
export const TaskFacts = (state: TaskStateProps) => {
  const { task } = state
  const facts: [name: string, value: ComponentChildren, look?: string][] = [
    ['oldest waiting run', <Oldest at={task.oldestRunAt} />],
    ['state', <TaskState {...state} />],
    ['delivery', task.url === null ? 'pull' : `push ${task.url}`, 'mono'],
    ['schedule', <ScheduleText task={task} />],
    ['follows', <FollowsText task={task} />],
    ['attempts', `${task.attempts}, backoff ${secondsText(task.backoffSeconds)}`],
    ['lease', secondsText(task.leaseSeconds)],
    ['runs at the same time', task.concurrency === null ? 'no limit' : `at most ${task.concurrency}`],
    ['finished runs kept', secondsText(task.keepSeconds)],
  ]
  return (
    <dl class="task-facts">
      {facts.map(([name, value, look]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={look}>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
