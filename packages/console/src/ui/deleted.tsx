import { serverNowMs } from '../api/clock.ts'
import { read } from '../api/request.ts'
import { navigate, type Route } from '../router.ts'
import { refreshRail } from '../state/catalogue.ts'
import { Failure, useAction } from './action.tsx'
import { hidden, List } from './list.tsx'
import { Section } from './screen.tsx'
import { Time } from './time.tsx'
import { toast } from './toasts.tsx'

export interface DeletedThing {
  name: string
  deletedAt: number
  recoverableUntil: number
}

const dayMs = 86_400_000

const daysLeft = (untilMs: number, nowMs: number): string => {
  const days = Math.floor((untilMs - nowMs) / dayMs)
  if (days < 1) return 'less than a day'
  return days === 1 ? '1 day' : `${days} days`
}

/** Deletes a bucket or a task, leads to the list, and offers to restore it. */
export const deleteWithUndo = async (
  name: string,
  path: string,
  list: Route & { db: string },
  own: Route,
  headers?: Record<string, string>,
): Promise<void> => {
  const { deletedAt } = await read<{ deletedAt: number }>('DELETE', path, { headers })
  refreshRail(list.db)
  navigate(list)
  toast(`${name} is deleted. It can be restored for 7 days.`, async () => {
    await read('POST', `${path}/restore`, { body: JSON.stringify({ deletedAt }) })
    refreshRail(list.db)
    navigate(own)
    toast(`${name} is restored.`)
  })
}

interface Props {
  what: string
  things: DeletedThing[]
  /** Absent: the reader may only look. */
  restore?: (thing: DeletedThing) => Promise<unknown>
}

/** What was deleted and can be restored; several may have the same name. */
export const Deleted = ({ what, things, restore }: Props) => {
  const restoring = useAction()
  if (things.length === 0) return null
  return (
    <Section title={`Deleted ${what}s`}>
      <Failure of={restoring} />
      <List class="blocks" heads={[what, 'deleted', 'can be restored for', hidden('actions')]}>
        {things.map((thing) => (
          <tr key={`${thing.name} ${thing.deletedAt}`}>
            <th scope="row" class="mono">
              {thing.name}
            </th>
            <td class="nowrap" data-label="deleted">
              <Time ms={thing.deletedAt} isShort={false} />
            </td>
            <td class="nowrap" data-label="can be restored for">
              {daysLeft(thing.recoverableUntil, serverNowMs())}
            </td>
            <td class="num">
              {restore && (
                <button
                  type="button"
                  aria-label={`Restore ${thing.name}`}
                  disabled={restoring.isRunning}
                  onClick={() => restoring.run(() => restore(thing))}
                >
                  Restore
                </button>
              )}
            </td>
          </tr>
        ))}
      </List>
    </Section>
  )
}
