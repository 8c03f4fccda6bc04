import type { RecordRow } from '../../api/types.ts'
import { hrefOf, navigate, type Route } from '../../router.ts'
import { draftOf, keepDraft, newText } from '../../state/drafts.ts'
import { canWrite } from '../../state/session.ts'
import { later } from '../../ui/later.tsx'
import { LatePlaceholder, Shown, useLoad } from '../../ui/load.tsx'
import { Empty, Screen } from '../../ui/screen.tsx'
import { loadLater } from '../load-later.ts'
import { normalKey, type RecordKey, showKey } from './record-key.ts'
import { readRecord } from './record-requests.ts'

const RecordForm = later(
  async () => (await loadLater()).RecordForm,
  (failure) => failure ?? <LatePlaceholder />,
)

interface ExistingProps {
  db: string
  table: string
  recordKey: RecordKey
  onSaved: (row: RecordRow) => void
  onDeleted: (deleted?: RecordRow) => void
  onOpen: (key: RecordKey) => void
}

const Missing = ({ db, table, recordKey }: Pick<ExistingProps, 'db' | 'table' | 'recordKey'>) => {
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
export const ExistingRecord = ({ db, table, recordKey, ...events }: ExistingProps) => {
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

interface Props {
  db: string
  table: string
  /** The key is undefined for a new record. */
  record?: RecordKey
  /** The query of the table, for the way back. */
  query?: string
  onDeleted?: (deleted?: RecordRow) => void
}

/** A record as a page, where there is no room beside the grid. */
export const RecordScreen = ({ db, table, record, query, onDeleted }: Props) => {
  const toTable: Route = { screen: 'table', db, table, query }
  const path = [
    { label: db, to: { screen: 'database', db } as Route },
    { label: table, to: toTable },
  ]
  const afterDelete = (deleted?: RecordRow) => {
    onDeleted?.(deleted)
    navigate(toTable)
  }
  const place = { db, table, onSaved: () => {}, onDeleted: afterDelete }
  const open = ({ hashKey, rangeKey }: RecordKey) => navigate({ screen: 'record', db, table, hashKey, rangeKey, query })
  if (record === undefined) {
    return (
      <Screen path={path} title="New record">
        {canWrite.value ? (
          <RecordForm key={hrefOf({ screen: 'newRecord', db, table })} {...place} onOpen={open} />
        ) : (
          <Empty text="A public key reads. Sign in with a secret key to create a record." />
        )}
      </Screen>
    )
  }
  const key = normalKey(record)
  return (
    <Screen path={path} title={showKey(key.hashKey)} isData>
      <ExistingRecord key={hrefOf({ screen: 'record', db, table, ...key })} {...place} recordKey={key} onOpen={open} />
    </Screen>
  )
}
