import { serverNowMs } from '../../api/clock.ts'
import type { RunRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { canWrite } from '../../state/session.ts'
import { type Count, showCount } from '../../state/waiting-runs.ts'
import { ageOf, showInstant } from '../../text/instant.ts'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { statuses } from './task-requests.ts'
import { StatusTag } from './task-words.tsx'

interface Props {
  db: string
  task: string
  runs: readonly RunRow[]
  /** Just added or changed here: it marks itself. */
  changedId: string | undefined
  isStale: boolean
}

const messageMax = 200

/** The sign is text, so that it is copied too. */
const cutMessage = (message: string): string =>
  message.length > messageMax ? `${message.slice(0, messageMax)}…` : message

export const RunsTable = ({ db, task, runs, changedId, isStale }: Props) => (
  <List
    class={isStale ? 'blocks runs stale' : 'blocks runs'}
    isBusy={isStale}
    heads={[
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
        <td class="nowrap from-large" title={showInstant(run.runAt).utc}>
          {ageOf(run.runAt, serverNowMs(), true)}
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
export const StatusPicture = ({ counts }: { counts: readonly Count[] }) => {
  const total = counts.reduce((sum, { count }) => sum + count, 0)
  const words = statuses.map((status, index) => `${status} ${showCount(counts[index]!)}`).join(', ')
  return (
    <div class="status-picture" role="img" aria-label={`Runs by status: ${words}`}>
      {total > 0 &&
        statuses.map((status, index) => {
          const count = counts[index]!
          if (count.count === 0) return null
          return (
            <div
              key={status}
              class={`share ${status}`}
              title={`${status}: ${showCount(count)}`}
              style={{ flexGrow: count.count }}
            />
          )
        })}
    </div>
  )
}
