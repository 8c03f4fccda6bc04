import { type Signal, useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { TableMetadata } from '../../api/types.ts'
import { canWrite } from '../../state/session.ts'
import { set } from '../../ui/action.tsx'
import { later } from '../../ui/later.tsx'
import { loadLater } from '../load-later.ts'
import type { TableQuery } from './table-query.ts'

const LiveView = later(
  async () => (await import('./live/live-view.tsx')).LiveView,
  (failure) => failure,
)
const KeepChanges = later(
  async () => (await loadLater()).KeepChanges,
  (failure) => failure,
)

/** Whether the table is followed. Of a table that keeps no changes nothing is loaded. */
export const Live = ({ query, declared }: { query: TableQuery; declared: Signal<TableMetadata | undefined> }) => {
  const isAsking = useSignal(false)
  const isKept = declared.value?.changes !== undefined
  // It stays when the log was ended, and says so.
  const wasKept = useRef(isKept)
  wasKept.current ||= isKept
  // The rest stays the same object, and with it the query.
  const change = ({ changes }: Pick<TableMetadata, 'changes'>): void => {
    declared.value = { ...declared.value!, changes }
  }
  return (
    <>
      {wasKept.current && <LiveView query={query} isKept={isKept} onNotKept={() => change({})} />}
      {!isKept && canWrite.value && (
        <button
          type="button"
          class="beside"
          title="What others write then shows here as it happens"
          onClick={set(isAsking, true)}
        >
          Keep changes
        </button>
      )}
      {isAsking.value && (
        <KeepChanges db={query.db} table={query.table} onKept={change} onClose={set(isAsking, false)} />
      )}
    </>
  )
}
