import { useSignal } from '@preact/signals'
import { serverNowMs } from '../api/clock.ts'
import { ErrorBox } from './error-box.tsx'
import { Section } from './section.tsx'
import { Time } from './time.tsx'

export interface DeletedThing {
  name: string
  deletedAt: number
  recoverableUntil: number
}

const dayMs = 86_400_000

export const daysLeft = (untilMs: number, nowMs: number): string => {
  const days = Math.floor((untilMs - nowMs) / dayMs)
  if (days < 1) return 'less than a day'
  return days === 1 ? '1 day' : `${days} days`
}

interface Props {
  what: string
  things: DeletedThing[]
  /** Absent: the reader may only look. */
  restore?: (thing: DeletedThing) => Promise<unknown>
}

/** What was deleted and can be restored; several may have the same name. */
export const Deleted = ({ what, things, restore }: Props) => {
  const failed = useSignal<unknown>(undefined)
  const isRunning = useSignal(false)
  if (things.length === 0) return null
  return (
    <Section title={`Deleted ${what}s`}>
      {failed.value !== undefined && <ErrorBox error={failed.value} />}
      <div class="scroll-x">
        <table class="list blocks">
          <thead>
            <tr>
              <th scope="col">{what}</th>
              <th scope="col">deleted</th>
              <th scope="col">can be restored for</th>
              <th scope="col">
                <span class="offscreen">actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
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
                      disabled={isRunning.value}
                      onClick={async () => {
                        isRunning.value = true
                        failed.value = undefined
                        try {
                          await restore(thing)
                        } catch (thrown) {
                          failed.value = thrown
                        }
                        isRunning.value = false
                      }}
                    >
                      Restore
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  )
}
