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
  /** A word that is shown behind the name. */
  kind?: string
  deletedAt: number
  recoverableUntil: number
}

const dayMs = 86_400_000
/** The first hour after the deletion counts as a whole day. */
const graceMs = 3_600_000

/** The time left in whole days, so that nobody relies on hours that are not left. */
const daysLeft = (untilMs: number, nowMs: number): string => {
  const days = Math.floor((untilMs - nowMs + graceMs) / dayMs)
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

interface Props<T> {
  what: string
  title?: string
  things: T[]
  /** The function is absent if the reader may only look. */
  restore?: (thing: T) => Promise<unknown>
}

/** The deleted things that can be restored. Several may have the same name. */
export const Deleted = <T extends DeletedThing>({ what, title = `Deleted ${what}s`, things, restore }: Props<T>) => {
  const restoring = useAction()
  if (things.length === 0) return null
  return (
    <Section title={title}>
      <Failure of={restoring} />
      <List class="blocks" heads={[what, 'deleted', 'can be restored for', hidden('actions')]}>
        {things.map((thing) => (
          <tr key={`${thing.kind} ${thing.name} ${thing.deletedAt}`}>
            <th scope="row">
              <span class="mono">{thing.name}</span> <small>{thing.kind}</small>
            </th>
            <td class="nowrap" data-label="deleted">
              <Time ms={thing.deletedAt} />
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
