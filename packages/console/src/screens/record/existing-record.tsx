import type { RecordRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { draftOf, keepDraft } from '../../state/drafts.ts'
import { canWrite } from '../../state/session.ts'
import { Empty } from '../../ui/empty.tsx'
import { Shown, useLoad } from '../../ui/load.tsx'
import { newText } from './editing.ts'
import { RecordForm } from './record-form.tsx'
import { normalKey, type RecordKey } from './record-key.ts'
import { readRecord } from './record-requests.ts'

interface Props {
  db: string
  table: string
  recordKey: RecordKey
  onSaved: (row: RecordRow) => void
  onDeleted: () => void
  onOpen: (key: RecordKey) => void
}

const Missing = ({ db, table, recordKey }: Pick<Props, 'db' | 'table' | 'recordKey'>) => {
  const creation = hrefOf({ screen: 'newRecord', db, table })
  return (
    <Empty text="There is no record with this key. It may have been deleted, or it has expired.">
      {canWrite.value && draftOf(creation) === undefined && (
        <a
          class="button"
          href={creation}
          onClick={() => keepDraft(creation, { text: newText, rangeKey: '', ttl: '', ...recordKey })}
        >
          Create it
        </a>
      )}
    </Empty>
  )
}

/** Reads the record, then shows its form. */
export const ExistingRecord = ({ db, table, recordKey, ...events }: Props) => {
  const key = normalKey(recordKey)
  const loaded = useLoad(
    async (signal) => ({ row: await readRecord(db, table, key, signal) }),
    [db, table, key.hashKey, key.rangeKey],
  )
  const place = hrefOf({ screen: 'record', db, table, ...key })
  return (
    <Shown of={loaded} rows={8}>
      {({ row }) =>
        row === undefined && draftOf(place) === undefined ? (
          <Missing db={db} table={table} recordKey={key} />
        ) : (
          <RecordForm key={place} db={db} table={table} recordKey={key} stored={row} {...events} />
        )
      }
    </Shown>
  )
}
