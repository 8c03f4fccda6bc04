import type { RecordRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { ExistingRecord } from './record.tsx'
import { normalKey, type RecordKey, showKey, showRecordKey } from './record-key.ts'

interface Props {
  db: string
  table: string
  record: { hashKey: string; rangeKey?: string }
  /** Gets the record as it is stored now. It has another key than `record` after "Save as another key". */
  onSaved: (row: RecordRow) => void
  onDeleted: (deleted?: RecordRow) => void
  onOpen: (key: RecordKey) => void
  onClose: () => void
}

/** A record beside the grid. Esc closes it. */
export const RecordPanel = ({ db, table, record, onSaved, onDeleted, onOpen, onClose }: Props) => {
  const key = normalKey(record)
  return (
    <aside
      class="record-panel"
      aria-label={`Record ${showRecordKey(key)}`}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !document.querySelector('dialog[open]')) onClose()
      }}
    >
      <div class="record-title">
        <h2 class="mono">{showKey(key.hashKey)}</h2>
        <button type="button" class="quiet" aria-label="Close the record" onClick={onClose}>
          ×
        </button>
      </div>
      <ExistingRecord
        key={hrefOf({ screen: 'record', db, table, ...key })}
        db={db}
        table={table}
        recordKey={key}
        onSaved={onSaved}
        onDeleted={onDeleted}
        onOpen={onOpen}
      />
    </aside>
  )
}
