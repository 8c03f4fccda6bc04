import { useSignal } from '@preact/signals'
import { pageRowsMax } from '../../../../server/src/core/limits.ts'
import { curlOf } from '../../api/curl.ts'
import { pathOf, read } from '../../api/request.ts'
import type { RunRow, TaskRow } from '../../api/types.ts'
import { hrefOf, navigate } from '../../router.ts'
import { refreshRail } from '../../state/catalogue.ts'
import { readTasks, runCounts, type TaskList } from '../../state/run-counts.ts'
import { canWrite } from '../../state/session.ts'
import { nameFault } from '../../text/names.ts'
import { into, set } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { DatabaseTabs } from '../../ui/database-tabs.tsx'
import { Deleted } from '../../ui/deleted.tsx'
import { TextField } from '../../ui/form.tsx'
import { List } from '../../ui/list.tsx'
import { Shown, useLoad } from '../../ui/load.tsx'
import { FailedCount } from '../../ui/rail.tsx'
import { Empty, Screen } from '../../ui/screen.tsx'
import { toast } from '../../ui/toasts.tsx'
import { Declare } from './declare.tsx'
import { LiveLine, useLive } from './live.tsx'
import { readFault, taskPath } from './task-requests.ts'
import { Oldest, ScheduleText, TaskState } from './task-words.tsx'

const everyMs = 10_000
/** The tasks with waiting runs whose last attempts are read, a few at once. */
const lookedAtMax = 40
const atOnceMax = 4

/** The tasks whose waiting runs have a failed attempt behind them. */
const readFaults = async (
  db: string,
  tasks: readonly TaskRow[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RunRow['error']>> => {
  const left = tasks.filter(({ counts }) => counts !== undefined && counts.queued > 0).slice(0, lookedAtMax)
  const found = new Map<string, RunRow['error']>()
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      // A task may be deleted in between.
      found.set(next.task, await readFault(db, next.task, signal).catch(() => null))
    }
  }
  await Promise.all(Array.from({ length: atOnceMax }, work))
  return found
}

const hostOf = (url: string): string => {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}

const TaskLine = ({ db, task, fault }: { db: string; task: TaskRow; fault: RunRow['error'] }) => {
  const counts = runCounts.value.get(`${db}/${task.task}`)
  return (
    <tr>
      <th scope="row">
        <a href={hrefOf({ screen: 'task', db, task: task.task })}>{task.task}</a>
      </th>
      <td>
        <TaskState task={task} fault={fault} hasFailed={counts?.failed !== ''} />
      </td>
      <td class="num">
        {counts?.failed && (
          <a class="failed-link" href={hrefOf({ screen: 'task', db, task: task.task, status: 'failed' })}>
            <FailedCount count={counts.failed} />
          </a>
        )}
      </td>
      <td class="num" data-label="queued">
        {counts?.queued || '0'}
      </td>
      <td class="nowrap" data-label="oldest waiting run">
        <Oldest at={task.oldestRunAt} />
      </td>
      <td class="mono nowrap from-medium">{task.url === null ? 'pull' : `push ${hostOf(task.url)}`}</td>
      <td class="nowrap from-medium">
        <ScheduleText task={task} />
      </td>
    </tr>
  )
}

const TasksList = ({ db }: { db: string }) => {
  const path = pathOf('v1', db, '_tasks')
  const isDeclaring = useSignal(false)
  const loaded = useLoad(async (signal) => {
    const list = await readTasks(db, signal)
    return { ...list, faults: await readFaults(db, list.tasks, signal) }
  }, [])
  const deleted = useLoad(
    (signal) => read<TaskList>('GET', `${path}?deleted=true&limit=${pageRowsMax}`, { signal }),
    [],
  )
  const live = useLive(loaded, everyMs, true)
  const list = loaded.value.value
  const isEmpty = list !== undefined && list.tasks.length === 0
  const declareButton = (
    <button type="button" class="filled" onClick={set(isDeclaring, true)}>
      Declare a task
    </button>
  )
  return (
    <Screen
      path={[{ label: db, to: { screen: 'database', db } }]}
      title="Tasks"
      actions={
        <>
          <CopyButton label="Copy as curl" text={() => curlOf({ method: 'GET', path })} />
          {!isEmpty && declareButton}
        </>
      }
    >
      <div class="pad wide">
        <DatabaseTabs db={db} at="tasks" />
        {(list === undefined || isEmpty) && (
          <Shown of={loaded}>
            {() => (
              <Empty text="A task is work that your server or your workers do later, until it succeeds. This database has none.">
                {declareButton}
              </Empty>
            )}
          </Shown>
        )}
        {list !== undefined && !isEmpty && (
          <List
            class="blocks"
            heads={[
              'task',
              'state',
              { head: 'failed', class: 'num' },
              { head: 'queued', class: 'num' },
              'oldest waiting run',
              { head: 'delivery', class: 'from-medium' },
              { head: 'schedule', class: 'from-medium' },
            ]}
          >
            {list.tasks.map((task) => (
              <TaskLine key={task.task} db={db} task={task} fault={list.faults.get(task.task) ?? null} />
            ))}
          </List>
        )}
        {list !== undefined && !isEmpty && <LiveLine of={live} />}
        {list?.cursor && <p class="muted">Only the first {list.tasks.length.toLocaleString('en')} tasks are listed.</p>}
        {list !== undefined && (
          <Shown of={deleted} rows={0}>
            {({ tasks }) => (
              <Deleted
                what="task"
                things={tasks.flatMap((task) => (task.status === 'deleted' ? [{ ...task, name: task.task }] : []))}
                restore={async ({ name, deletedAt }) => {
                  await read('POST', `${taskPath(db, name)}/restore`, { body: JSON.stringify({ deletedAt }) })
                  refreshRail(db)
                  toast(`${name} is restored.`)
                  await Promise.all([loaded.reload(), deleted.reload()])
                }}
              />
            )}
          </Shown>
        )}
      </div>
      {isDeclaring.value && (
        <Declare
          db={db}
          onClose={set(isDeclaring, false)}
          onDeclared={({ task }) => {
            isDeclaring.value = false
            refreshRail(db)
            navigate({ screen: 'task', db, task })
          }}
        />
      )}
    </Screen>
  )
}

/** The way to a task for a key that cannot list them. */
const TaskByName = ({ db }: { db: string }) => {
  const task = useSignal('')
  const fault = task.value === '' ? undefined : nameFault(task.value)
  return (
    <div class="pad">
      <DatabaseTabs db={db} at="tasks" />
      <form
        class="stack narrow"
        onSubmit={(event) => {
          event.preventDefault()
          if (nameFault(task.value) === undefined) navigate({ screen: 'task', db, task: task.value })
        }}
      >
        <p class="muted">
          A public key does not list tasks. It reads the runs of a task, without their payload and key.
        </p>
        <TextField label="Name of the task" value={task.value} fault={fault} onText={into(task)} />
        <div class="actions">
          <button type="submit" class="filled">
            Show its runs
          </button>
        </div>
      </form>
    </div>
  )
}

export const TasksScreen = ({ db }: { db: string }) =>
  canWrite.value ? (
    <TasksList db={db} />
  ) : (
    <Screen path={[{ label: db, to: { screen: 'database', db } }]} title="Tasks">
      <TaskByName db={db} />
    </Screen>
  )
