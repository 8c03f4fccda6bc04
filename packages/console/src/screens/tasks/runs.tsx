import type { Signal } from '@preact/signals'
import { runsCountedMax } from '../../../../server/src/core/limits.ts'
import type { RunRow } from '../../api/types.ts'
import { hrefOf, statuses } from '../../router.ts'
import { type RunCounts, showCount } from '../../state/run-counts.ts'
import { canWrite } from '../../state/session.ts'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { StatusTag } from './task-words.tsx'

interface Props {
  db: string
  task: string
  runs: readonly RunRow[]
  /** The run that was just added or changed here marks itself. */
  changedId: string | undefined
  isStale: boolean
  /** The ids of the chosen runs; absent: the reader may only look. */
  chosen?: Signal<ReadonlySet<string>>
}

const messageMax = 200

/** The sign is text, so that it is copied too. */
const cutMessage = (message: string): string =>
  message.length > messageMax ? `${message.slice(0, messageMax)}…` : message

const choose = (chosen: Signal<ReadonlySet<string>>, ids: readonly string[], isOn: boolean): void => {
  const found = new Set(chosen.value)
  for (const id of ids) {
    if (isOn) found.add(id)
    else found.delete(id)
  }
  chosen.value = found
}

interface SelectProps {
  of: Signal<ReadonlySet<string>>
  ids: readonly string[]
  label: string
}

const Select = ({ of, ids, label }: SelectProps) => (
  <input
    type="checkbox"
    aria-label={label}
    checked={ids.every((id) => of.value.has(id))}
    onChange={(event) => choose(of, ids, event.currentTarget.checked)}
  />
)

export const RunsTable = ({ db, task, runs, changedId, isStale, chosen }: Props) => (
  <List
    class={isStale ? 'blocks runs stale' : 'blocks runs'}
    isBusy={isStale}
    heads={[
      ...(chosen
        ? [
            {
              head: <Select of={chosen} ids={runs.map(({ id }) => id)} label="Select all shown runs" />,
              class: 'select',
            },
          ]
        : []),
      'id',
      'status',
      { head: 'attempt', class: 'num from-medium' },
      ...(canWrite.value ? [{ head: 'key', class: 'from-large' }] : []),
      { head: 'runAt', class: 'from-large' },
      'updatedAt',
      'error',
    ]}
  >
    {runs.map((run) => (
      <tr key={run.id} class={run.id === changedId ? 'changed' : ''}>
        {chosen && (
          <td class="select">
            <Select of={chosen} ids={[run.id]} label={`Select ${run.id}`} />
          </td>
        )}
        <th scope="row">
          <a class="mono" href={hrefOf({ screen: 'run', db, task, run: run.id })}>
            {run.id}
          </a>
        </th>
        <td>
          <StatusTag status={run.status} />
        </td>
        <td class="num from-medium">{run.attempt}</td>
        {canWrite.value && <td class="mono from-large">{run.key ?? ''}</td>}
        <td class="nowrap from-large">
          <Time ms={run.runAt} />
        </td>
        <td class="nowrap">
          <Time ms={run.updatedAt} />
        </td>
        <td class="run-error" title={run.error?.message}>
          {run.error && (
            <>
              <code>{run.error.code}</code> {cutMessage(run.error.message)}
            </>
          )}
        </td>
      </tr>
    ))}
  </List>
)

/** The runs by status as one bar. The figures are in the buttons below it. */
export const StatusPicture = ({ counts }: { counts: RunCounts }) => {
  const words = statuses.map((status) => `${status} ${showCount(counts[status], runsCountedMax)}`)
  return (
    <div class="status-picture" role="img" aria-label={`Runs by status: ${words.join(', ')}`}>
      {statuses.map((status, index) =>
        counts[status] === 0 ? null : (
          <div key={status} class={`share ${status}`} title={words[index]} style={{ flexGrow: counts[status] }} />
        ),
      )}
    </div>
  )
}
