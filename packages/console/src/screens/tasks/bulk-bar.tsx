import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { runsCountedMax } from '../../../../server/src/core/limits.ts'
import type { RunRow } from '../../api/types.ts'
import { type RunCounts, showCount } from '../../state/run-counts.ts'
import { set } from '../../ui/action.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Confirm } from '../../ui/form.tsx'
import { type BulkState, bulk, closeBulk, isRunning, runBulk, runsOf, sayBulk, stopBulk, type Verb } from './bulk.ts'

const BulkProgress = ({ state }: { state: BulkState }) => {
  const total = Number(state.total.replaceAll(/\D/g, ''))
  const ended = state.done + state.refusedCount
  return (
    <div class="bulk">
      <progress aria-label="Runs" max={Math.max(total, ended, 1)} value={ended} />
      <span class="tabular">{sayBulk(state)}</span>
      {isRunning(state) ? (
        <button type="button" disabled={state.status === 'stopping'} onClick={stopBulk}>
          Stop
        </button>
      ) : (
        <button type="button" class="link" onClick={closeBulk}>
          Close
        </button>
      )}
      {state.error !== undefined && <ErrorBox error={state.error} />}
      {state.refused.length > 0 && (
        <details>
          <summary>Why not</summary>
          <ul>
            {state.refused.map(({ id, message }) => (
              <li key={id}>
                <code>{id}</code>: {message}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

const isOver = ({ status }: RunRow): boolean => status === 'failed' || status === 'cancelled'
const isOpen = ({ status }: RunRow): boolean => status === 'queued' || status === 'running'

interface Question {
  title: string
  action: string
  text: string
  isDangerous: boolean
  cancel?: string
  run: () => void
}

interface Props {
  db: string
  task: string
  counts: RunCounts
  chosen: readonly RunRow[]
  clear: () => void
  /** Called when runs have changed. */
  onChanged: () => void
}

/** Retries and cancels many runs: all of a status, or the chosen ones. */
export const BulkBar = ({ db, task, counts, chosen, clear, onChanged }: Props) => {
  const question = useSignal<Question | undefined>(undefined)
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  const state = bulk.value?.place === `${db}/${task}` ? bulk.value.state : undefined
  const isBusy = isRunning(bulk.value?.state)
  const start = (verb: Verb, pages: Parameters<typeof runBulk>[2], total: string) => {
    clear()
    runBulk(db, task, pages, {
      verb,
      total,
      onEnd: () => {
        if (isShown.current) onChanged()
        return isShown.current
      },
    })
  }
  const button = (label: string, run: () => void) => (
    <button type="button" disabled={isBusy} onClick={run}>
      {label}
    </button>
  )
  const cancel = (count: string, pages: () => Parameters<typeof runBulk>[2]) =>
    set(question, {
      title: `Cancel ${count}?`,
      action: 'Cancel the runs',
      text: 'The results of running attempts are rejected from then on. You can retry cancelled runs later.',
      isDangerous: true,
      cancel: 'Keep them',
      run: () => start('cancel', pages(), count),
    })
  const again = chosen.filter(({ status }) => status === 'succeeded')
  const over = chosen.filter(isOver)
  const open = chosen.filter(isOpen)
  const failed = showCount(counts.failed, runsCountedMax)
  const queued = showCount(counts.queued, runsCountedMax)
  return (
    <>
      <div class="actions">
        {chosen.length > 0 ? (
          <>
            <strong>{chosen.length} selected</strong>
            {over.length > 0 && button(`Retry ${over.length}`, () => start('retry', [over], String(over.length)))}
            {open.length > 0 &&
              button(
                `Cancel ${open.length}`,
                cancel(String(open.length), () => [open]),
              )}
            {again.length > 0 &&
              button(
                `Run ${again.length} again`,
                set(question, {
                  title: `Run ${again.length} again?`,
                  action: 'Run again',
                  text: 'These runs have succeeded. Their work is done once more.',
                  isDangerous: false,
                  run: () => start('retry', [again], String(again.length)),
                }),
              )}
            <button type="button" class="link" onClick={clear}>
              Clear the selection
            </button>
          </>
        ) : (
          <>
            {counts.failed > 0 &&
              button(`Retry ${failed} failed`, () => start('retry', runsOf(db, task, 'failed'), failed))}
            {counts.queued > 0 &&
              button(
                `Cancel ${queued} queued`,
                cancel(`${queued} queued`, () => runsOf(db, task, 'queued')),
              )}
          </>
        )}
      </div>
      {state && <BulkProgress state={state} />}
      {question.value && (
        <Confirm
          title={question.value.title}
          action={question.value.action}
          isDangerous={question.value.isDangerous}
          cancel={question.value.cancel}
          run={question.value.run}
          onClose={set(question, undefined)}
        >
          <p>{question.value.text}</p>
        </Confirm>
      )}
    </>
  )
}
