import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { runsCountedMax } from '../../../../server/src/core/limits.ts'
import { curlOf } from '../../api/curl.ts'
import type { Page, RunRow, RunStatus, TaskRow } from '../../api/types.ts'
import { navigate, statuses } from '../../router.ts'
import { type RunCounts, showCount } from '../../state/run-counts.ts'
import { canWrite } from '../../state/session.ts'
import { Failure, set, useAction } from '../../ui/action.tsx'
import { announce } from '../../ui/announce.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { deleteWithUndo } from '../../ui/deleted.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Confirm } from '../../ui/form.tsx'
import { Placeholder, useLoad } from '../../ui/load.tsx'
import { Empty, Screen, Section } from '../../ui/screen.tsx'
import { toast } from '../../ui/toasts.tsx'
import { BulkBar } from './bulk-bar.tsx'
import { Declare } from './declare.tsx'
import { LiveLine, useLive } from './live.tsx'
import { RunNow } from './run-now.tsx'
import { RunsTable, StatusPicture } from './runs.tsx'
import { NewSecret } from './secret.tsx'
import { countRuns, faultOf, queryRuns, readCountedTask, setPaused, taskPath } from './task-requests.ts'
import { TaskFacts } from './task-words.tsx'

const everyMs = 2_000
/** A public key has no request for all counts. */
const publicEveryMs = 10_000
const rowsMax = 50

interface Shot {
  /** The task is undefined for a public key, which may not read it. */
  task: TaskRow | undefined
  counts: RunCounts
  status: RunStatus | undefined
  page: Page<RunRow>
}

/** The number of runs of all statuses, with a plus if one of them was not counted to its end. */
const sumOf = (counts: RunCounts): string => {
  const all = Object.values(counts)
  const sum = all.reduce((total, count) => total + count, 0)
  return `${sum.toLocaleString('en')}${all.some((count) => count >= runsCountedMax) ? '+' : ''}`
}

type Open = 'run' | 'declare' | 'secret' | 'delete'

interface Props {
  db: string
  task: string
  status?: RunStatus
}

export const TaskScreen = ({ db, task, status: wanted }: Props) => {
  const path = taskPath(db, task)
  const status = useSignal(wanted)
  /** Older pages. While they are shown, the list stands still. */
  const older = useSignal<{ runs: RunRow[]; cursor: string | null } | undefined>(undefined)
  const open = useSignal<Open | undefined>(undefined)
  const changedId = useSignal<string | undefined>(undefined)
  const chosen = useSignal<ReadonlySet<string>>(new Set())
  /** The last that was seen: a list of other runs does not show it. */
  const fault = useSignal<RunRow['error']>(null)
  const change = useAction()

  const loaded = useLoad(async (signal): Promise<Shot> => {
    const asked = status.value
    const [about, page] = await Promise.all([
      canWrite.value ? readCountedTask(db, task, signal) : undefined,
      queryRuns(db, task, { status: asked, limit: rowsMax, cursor: null }, signal),
    ])
    const counts = about?.counts ?? (await countRuns(db, task, signal))
    if (counts.queued === 0) fault.value = null
    else if (asked === undefined || asked === 'queued') fault.value = faultOf(page.items)
    return { task: about, counts, status: asked, page }
  }, [])
  const live = useLive(loaded, canWrite.value ? everyMs : publicEveryMs, older.value === undefined)
  const shot = loaded.value.value

  const show = (next: RunStatus | undefined) => {
    status.value = next
    older.value = undefined
    chosen.value = new Set()
    loaded.reload()
  }
  const choose = (next: RunStatus | undefined) => {
    if (next === status.value) show(next)
    else navigate({ screen: 'task', db, task, status: next }, { replace: true })
  }
  useEffect(() => {
    if (wanted !== status.value) show(wanted)
  }, [wanted])
  const more = () =>
    change.run(async () => {
      const before = older.value ?? { runs: [], cursor: shot!.page.cursor }
      const page = await queryRuns(db, task, { status: status.value, limit: rowsMax, cursor: before.cursor })
      older.value = { runs: [...before.runs, ...page.items], cursor: page.cursor }
    })
  const pause = (paused: boolean) =>
    change.run(async () => {
      await setPaused(db, task, paused)
      await loaded.reload()
      announce(paused ? 'Paused' : 'Resumed')
    })
  const close = set(open, undefined)
  const remove = () =>
    deleteWithUndo(
      task,
      path,
      { screen: 'tasks', db },
      { screen: 'task', db, task },
      { 'If-Match': `"${shot!.task!.updatedAt}"` },
    )

  const about = shot?.task
  const runs = shot ? [...shot.page.items, ...(older.value?.runs ?? [])] : []
  const cursor = older.value ? older.value.cursor : (shot?.page.cursor ?? null)
  const tabs = shot && [
    { status: undefined, count: sumOf(shot.counts) },
    ...statuses.map((each) => ({ status: each, count: showCount(shot.counts[each], runsCountedMax) })),
  ]
  const openButton = (what: Open, label: string, look?: string) => (
    <button type="button" class={look} onClick={set(open, what)}>
      {label}
    </button>
  )
  return (
    <Screen
      path={[
        { label: db, to: { screen: 'database', db } },
        { label: 'Tasks', to: { screen: 'tasks', db } },
      ]}
      title={task}
      actions={
        <>
          <CopyButton
            label="Copy as curl"
            text={() =>
              curlOf({
                method: 'POST',
                path: `${path}/query`,
                body: JSON.stringify({ status: status.value, limit: rowsMax }),
              })
            }
          />
          {canWrite.value && about && (
            <>
              {about.url !== null && openButton('secret', 'New secret')}
              {openButton('declare', 'Declaration')}
              <button type="button" disabled={change.isRunning} onClick={() => pause(!about.paused)}>
                {about.paused ? 'Resume' : 'Pause'}
              </button>
              {openButton('run', 'Run', 'filled')}
            </>
          )}
        </>
      }
    >
      <div class="pad wide">
        <Failure of={change} />
        {shot === undefined && loaded.error.value !== undefined && (
          <ErrorBox error={loaded.error.value} retry={loaded.reload} />
        )}
        {shot === undefined && loaded.isSlow.value && <Placeholder rows={8} />}
        {shot && tabs && (
          <>
            {about && <TaskFacts task={about} fault={fault.value} hasFailed={shot.counts.failed > 0} />}
            <StatusPicture counts={shot.counts} />
            <div class="tabs-line">
              {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend that is seen */}
              <div class="tabs" role="group" aria-label="Runs by status">
                {tabs.map((tab) => (
                  <button
                    key={tab.status ?? 'all'}
                    type="button"
                    aria-pressed={status.value === tab.status}
                    onClick={() => choose(tab.status)}
                  >
                    {tab.status ?? 'all'} <span class={`tab-count ${tab.status ?? ''}`}>{tab.count}</span>
                  </button>
                ))}
              </div>
              <LiveLine of={live} pausedBecause={older.value && 'while older runs are shown'} />
            </div>
            {canWrite.value && (
              <BulkBar
                db={db}
                task={task}
                counts={shot.counts}
                chosen={runs.filter(({ id }) => chosen.value.has(id))}
                clear={() => {
                  chosen.value = new Set()
                }}
                onChanged={() => show(status.value)}
              />
            )}
            {runs.length === 0 ? (
              <Empty
                text={
                  status.value === undefined
                    ? 'This task has no runs. They come from your code, the schedule, the table that it follows, or from here.'
                    : `No run is ${status.value}.`
                }
              >
                {status.value === undefined && canWrite.value && openButton('run', 'Run')}
                {status.value !== undefined && (
                  <button type="button" onClick={() => choose(undefined)}>
                    Show all runs
                  </button>
                )}
              </Empty>
            ) : (
              <RunsTable
                db={db}
                task={task}
                runs={runs}
                changedId={changedId.value}
                isStale={shot.status !== status.value}
                chosen={canWrite.value ? chosen : undefined}
              />
            )}
            <div class="actions">
              {cursor !== null && (
                <button type="button" disabled={change.isRunning} onClick={more}>
                  More
                </button>
              )}
              {older.value !== undefined && (
                <button type="button" onClick={() => choose(status.value)}>
                  Back to the newest
                </button>
              )}
            </div>
            {canWrite.value && about && (
              <Section title="Delete this task">
                <p class="muted">Its runs stop. It can be restored with its runs for 7 days.</p>
                <div>{openButton('delete', 'Delete the task', 'danger')}</div>
              </Section>
            )}
          </>
        )}
      </div>
      {open.value === 'run' && (
        <RunNow
          db={db}
          task={task}
          onClose={close}
          onAdded={(added, isNew) => {
            close()
            changedId.value = added.id
            choose(undefined)
            if (isNew) announce(`Run ${added.id} is queued.`)
            else toast(`${added.id} existed already. It is ${added.status}.`)
          }}
        />
      )}
      {open.value === 'declare' && about && (
        <Declare
          db={db}
          present={about}
          onClose={close}
          onDeclared={() => {
            close()
            loaded.reload()
            announce('Saved')
          }}
        />
      )}
      {open.value === 'secret' && <NewSecret db={db} task={task} onClose={close} />}
      {open.value === 'delete' && (
        <Confirm title={`Delete ${task}?`} action="Delete the task" name={task} run={remove} onClose={close}>
          <p>
            Its runs are not handed out, pushed or scheduled any more. You can restore the task with its runs for 7
            days.
          </p>
        </Confirm>
      )}
    </Screen>
  )
}
