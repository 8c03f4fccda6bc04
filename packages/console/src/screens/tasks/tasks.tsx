import { useSignal } from '@preact/signals'
import { pageRowsMax } from '../../../../server/src/core/limits.ts'
import { curlOf } from '../../api/curl.ts'
import { pathOf, read } from '../../api/request.ts'
import type { TaskRow } from '../../api/types.ts'
import { hrefOf, navigate } from '../../router.ts'
import { refreshRail } from '../../state/catalogue.ts'
import { canWrite } from '../../state/session.ts'
import { countWaiting, waitingRuns } from '../../state/waiting-runs.ts'
import { set } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Deleted } from '../../ui/deleted.tsx'
import { List } from '../../ui/list.tsx'
import { Shown, useLoad } from '../../ui/load.tsx'
import { Empty, Screen } from '../../ui/screen.tsx'
import { toast } from '../../ui/toasts.tsx'
import { Declare } from './declare.tsx'
import { LiveLine, useLive } from './live.tsx'
import { taskPath } from './task-requests.ts'
import { Oldest, ScheduleText, TaskState } from './task-words.tsx'

const everyMs = 10_000
interface TaskList {
  tasks: TaskRow[]
  cursor: string | null
}

const hostOf = (url: string): string => {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}

const TasksList = ({ db }: { db: string }) => {
  const path = pathOf('v1', db, '_tasks')
  const isDeclaring = useSignal(false)
  const loaded = useLoad(async (signal) => {
    const list = await read<TaskList>('GET', `${path}?limit=${pageRowsMax}`, { signal })
    countWaiting(db, list.tasks, signal)
    return list
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
            heads={[
              'task',
              'oldest waiting run',
              { head: 'queued', class: 'num' },
              'state',
              { head: 'delivery', class: 'from-medium' },
              { head: 'schedule', class: 'from-medium' },
            ]}
          >
            {list.tasks.map((task) => (
              <tr key={task.task}>
                <th scope="row">
                  <a href={hrefOf({ screen: 'task', db, task: task.task })}>{task.task}</a>
                </th>
                <td class="nowrap">
                  <Oldest at={task.oldestRunAt} />
                </td>
                <td class="num">{waitingRuns.value.get(`${db}/${task.task}`) ?? ''}</td>
                <td>
                  <TaskState task={task} />
                </td>
                <td class="mono nowrap from-medium">{task.url === null ? 'pull' : `push ${hostOf(task.url)}`}</td>
                <td class="nowrap from-medium">
                  <ScheduleText task={task} />
                </td>
              </tr>
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

export const TasksScreen = ({ db }: { db: string }) =>
  canWrite.value ? (
    <TasksList db={db} />
  ) : (
    <Screen path={[{ label: db, to: { screen: 'database', db } }]} title="Tasks">
      <Empty text="A public key does not list tasks. It reads runs by their address, without payload and key.">
        <a class="button" href={hrefOf({ screen: 'database', db })}>
          Back to {db}
        </a>
      </Empty>
    </Screen>
  )
