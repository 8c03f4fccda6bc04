import { hrefOf, navigate, type Route } from '../../router.ts'
import { canWrite } from '../../state/session.ts'
import { Empty } from '../../ui/empty.tsx'
import { Screen } from '../../ui/screen.tsx'
import { ExistingRecord } from './existing-record.tsx'
import { RecordForm } from './record-form.tsx'
import { normalKey, type RecordKey, showKey } from './record-key.ts'

interface Props {
  db: string
  table: string
  /** undefined: a new record. */
  record?: { hashKey: string; rangeKey?: string }
}

/** A record as a page, where there is no room beside the grid. */
export const RecordScreen = ({ db, table, record }: Props) => {
  const toTable: Route = { screen: 'table', db, table }
  const path = [
    { label: db, to: { screen: 'database', db } as Route },
    { label: table, to: toTable },
  ]
  const place = { db, table, onSaved: () => {}, onDeleted: () => navigate(toTable) }
  const open = ({ hashKey, rangeKey }: RecordKey) => navigate({ screen: 'record', db, table, hashKey, rangeKey })
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
