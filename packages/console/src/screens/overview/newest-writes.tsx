import { pathOf, read } from '../../api/request.ts'
import type { Page, RecordRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { Section } from '../../ui/screen.tsx'
import { Time } from '../../ui/time.tsx'
import { showRecordKey } from '../record/record-key.ts'

/** The records of a table that were written last. */
interface Written {
  db: string
  table: string
  rows: RecordRow[]
}

const tablesMax = 3
const rowsMax = 5
const dataCharactersMax = 120

/** Skips tables without records and those that cannot be read: one may be gone, or in a database that this key does not see. */
export const readNewest = async (
  tables: readonly { db: string; table: string }[],
  signal: AbortSignal,
): Promise<Written[]> => {
  const body = JSON.stringify({ index: 't', limit: rowsMax })
  const found = await Promise.all(
    tables.map(async ({ db, table }) => {
      try {
        const { items } = await read<Page<RecordRow>>('POST', `${pathOf('v1', db, table)}/query`, { body, signal })
        return items.length === 0 ? [] : [{ db, table, rows: items }]
      } catch {
        signal.throwIfAborted()
        return []
      }
    }),
  )
  const byTime = found.flat().sort((a, b) => b.rows[0]!.updatedAt - a.rows[0]!.updatedAt)
  return byTime.slice(0, tablesMax)
}

/** The beginning of the text, with a sign if it goes on. */
const beginningOf = (data: string): string => {
  const line = data.replaceAll(/\s+/g, ' ')
  return line.length > dataCharactersMax ? `${line.slice(0, dataCharactersMax)}…` : line
}

export const NewestWrites = ({ of }: { of: readonly Written[] }) => (
  <Section title="Newest writes">
    {of.map(({ db, table, rows }) => (
      <div key={`${db}/${table}`} class="newest">
        <h3>
          <a href={hrefOf({ screen: 'table', db, table })}>
            {db} / {table}
          </a>
        </h3>
        <ul>
          {rows.map(({ hashKey, rangeKey, data, updatedAt }) => (
            <li key={showRecordKey({ hashKey, rangeKey })}>
              <a class="mono" href={hrefOf({ screen: 'record', db, table, hashKey, rangeKey })}>
                {showRecordKey({ hashKey, rangeKey })}
              </a>
              <code class="muted">{beginningOf(data)}</code>
              <small>
                <Time ms={updatedAt} />
              </small>
            </li>
          ))}
        </ul>
      </div>
    ))}
  </Section>
)
