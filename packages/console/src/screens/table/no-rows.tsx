import { curlOf } from '../../api/curl.ts'
import { hrefOf } from '../../router.ts'
import { canWrite } from '../../state/session.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Code } from '../../ui/json-view.tsx'
import { Empty } from '../../ui/screen.tsx'
import { indexFields } from '../record/placement.ts'
import { askedWords, isWholeTable, looseningsOf } from './empty-words.ts'
import { newestFirst } from './query-form.ts'
import { nameText } from './rows.ts'
import type { TableQuery } from './table-query.ts'

/** The first record as a command, with a value for each index field. */
const firstRecord = ({ path, indices }: TableQuery): string => {
  const data = Object.fromEntries(indexFields(indices).map((name) => [name, 'value']))
  return curlOf({ method: 'PUT', path, body: JSON.stringify({ hashKey: 'first', data }) })
}

const EmptyTable = ({ query }: { query: TableQuery }) => {
  const { db, table } = query
  if (!canWrite.value) return <Empty text="This table has no records. A public key cannot write one." />
  const curl = firstRecord(query)
  return (
    <Empty text="This table has no records.">
      <a class="button" href={hrefOf({ screen: 'newRecord', db, table })}>
        New record
      </a>
      <p>Or from a shell:</p>
      <Code label="curl">{curl}</Code>
      <CopyButton text={() => curl} what="the command" />
    </Empty>
  )
}

/** An empty result says what was asked and offers what to loosen. */
export const NoRows = ({ query }: { query: TableQuery }) => {
  const asked = query.asked.value!
  if (isWholeTable(asked.form)) return <EmptyTable query={query} />
  const loosenings = looseningsOf(asked.form, query.indices)
  return (
    <Empty
      text={
        <>
          No record with <span class="asked">{nameText(askedWords(asked.form, query.indices))}</span>.
          {query.hint.value !== undefined && (
            <>
              {' '}
              <strong>{query.hint.value}</strong>
            </>
          )}
        </>
      }
    >
      <div class="actions">
        {loosenings.map(({ label, form }) => (
          <button
            key={label}
            type="button"
            onClick={() => {
              query.change(form)
              query.run()
            }}
          >
            {nameText(label)}
          </button>
        ))}
      </div>
    </Empty>
  )
}

/** The address has a query that the table does not have. */
export const WrongAddress = ({ query, fault }: { query: TableQuery; fault: string }) => (
  <div class="pad">
    <div class="message danger" role="alert">
      <p>
        <strong>The query in this address cannot be run:</strong> {nameText(fault)}.
      </p>
    </div>
    <p>
      <button
        type="button"
        onClick={() => {
          query.change(newestFirst)
          query.run()
        }}
      >
        Show the newest records
      </button>
    </p>
  </div>
)
