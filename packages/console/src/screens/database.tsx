import { pageRowsMax } from '../../../server/src/core/limits.ts'
import { pathOf, read, send } from '../api/request.ts'
import type { DeletedTable, Indices, TableMetadata } from '../api/types.ts'
import { hrefOf } from '../router.ts'
import { loadContents } from '../state/catalogue.ts'
import { overlay } from '../state/overlay.ts'
import { canWrite } from '../state/session.ts'
import { set } from '../ui/action.tsx'
import { DatabaseTabs } from '../ui/database-tabs.tsx'
import { Deleted, type DeletedThing } from '../ui/deleted.tsx'
import { List } from '../ui/list.tsx'
import { Shown, useLoad } from '../ui/load.tsx'
import { Empty, Screen } from '../ui/screen.tsx'
import { Time } from '../ui/time.tsx'
import { toast } from '../ui/toasts.tsx'
import { RemoveSampleButton } from './sample/sample-button.tsx'
import { sampleDatabase } from './sample/shop.ts'

// `#/db`: its tables with their indices, and the deleted ones that can be restored.

/** Every page: a database has few tables, and the list is cut nowhere else. */
const readTables = async <T extends TableMetadata>(db: string, query: string, signal: AbortSignal): Promise<T[]> => {
  const tables: T[] = []
  let cursor: string | null = null
  do {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: { tables: T[]; cursor: string | null } = await read(
      'GET',
      `${pathOf('v1', db)}?limit=${pageRowsMax}${query}${more}`,
      {
        signal,
      },
    )
    tables.push(...page.tables)
    cursor = page.cursor
  } while (cursor !== null)
  return tables
}

export const IndexList = ({ indices }: { indices: Indices }) => {
  const declared = Object.entries(indices)
  if (declared.length === 0) return <span class="muted">none</span>
  return (
    <ul class="names">
      {declared.map(([slot, { hashField, rangeField }]) => (
        <li key={slot}>
          <small>{slot}</small> <code>{rangeField === undefined ? hashField : `${hashField}, ${rangeField}`}</code>
        </li>
      ))}
    </ul>
  )
}

export const DatabaseScreen = ({ db }: { db: string }) => {
  const active = useLoad((signal) => readTables(db, '', signal), [db])
  const deleted = useLoad((signal) => readTables<DeletedTable>(db, '&deleted=true', signal), [db])
  const create = set(overlay, { kind: 'createTable', db })
  const reload = () => Promise.all([active.reload(), deleted.reload(), loadContents(db)])
  const restore = async ({ name, deletedAt }: DeletedThing) => {
    await send('POST', pathOf('v1', db, name, 'restore'), { body: JSON.stringify({ deletedAt }) })
    toast(`${name} is restored.`)
    await reload()
  }
  return (
    <Screen
      path={[{ label: 'Overview', to: { screen: 'home' } }]}
      title={db}
      actions={
        <>
          {canWrite.value && db === sampleDatabase && <RemoveSampleButton />}
          {canWrite.value && (
            <button type="button" class="filled" onClick={create}>
              Create a table
            </button>
          )}
        </>
      }
    >
      <div class="pad">
        <DatabaseTabs db={db} at="database" />
        <Shown of={active}>
          {(tables) =>
            tables.length === 0 ? (
              <Empty text="A table holds JSON records, found by their keys and by up to five indices. This database has none.">
                {canWrite.value && (
                  <button type="button" onClick={create}>
                    Create a table
                  </button>
                )}
              </Empty>
            ) : (
              <List class="blocks" heads={['table', 'indices', 'created']}>
                {tables.map(({ table, indices, createdAt }) => (
                  <tr key={table}>
                    <th scope="row">
                      <a href={hrefOf({ screen: 'table', db, table })}>{table}</a>
                    </th>
                    <td data-label="indices">
                      <IndexList indices={indices} />
                    </td>
                    <td class="nowrap" data-label="created">
                      <Time ms={createdAt} />
                    </td>
                  </tr>
                ))}
              </List>
            )
          }
        </Shown>
        {active.value.value !== undefined && (
          <Shown of={deleted} rows={1}>
            {(tables) => (
              <Deleted
                what="table"
                things={tables.map((table) => ({ ...table, name: table.table }))}
                restore={canWrite.value ? restore : undefined}
              />
            )}
          </Shown>
        )}
      </div>
    </Screen>
  )
}
