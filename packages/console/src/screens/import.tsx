import { type Signal, signal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { catalogue, contents, loadContents } from '../state/catalogue.ts'
import { canWrite, session } from '../state/session.ts'
import { bytesOf } from '../text/instant.ts'
import { nameFault } from '../text/names.ts'
import { shellCommand } from '../text/shell-command.ts'
import { into, set } from '../ui/action.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Check, Field } from '../ui/form.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { Empty, Screen, Section } from '../ui/screen.tsx'
import { type Columns, CsvFields } from './import/csv-fields.tsx'
import { type CsvHead, guessFormat, readHead } from './import/csv-head.ts'
import { ImportProgress } from './import/import-progress.tsx'
import { findIndices } from './import/import-requests.ts'
import { importState, runImport, wholeImports } from './import/import-run.ts'

const isCsv = ({ name }: File): boolean => /\.[ct]sv(\.gz)?$/i.test(name)

const example = '{"hashKey":"ada","rangeKey":"o-1","data":{"status":"open","total":40.0}}'

interface NameProps {
  label: string
  hint: string | undefined
  value: string
  placeholder: string
  options: string[]
  onInput: (name: string) => void
}

/** The field takes one of the existing names, or another. */
const NameField = ({ label, hint, value, placeholder, options, onInput }: NameProps) => {
  const listId = useId()
  const fault = value === '' ? undefined : nameFault(value)
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(id, describedBy) => (
        <>
          <input
            id={id}
            class="mono"
            list={listId}
            autocomplete="off"
            spellcheck={false}
            placeholder={placeholder}
            value={value}
            aria-describedby={describedBy}
            aria-invalid={fault !== undefined}
            onInput={(event) => onInput(event.currentTarget.value.trim())}
          />
          <datalist id={listId}>
            {options.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}

interface Target {
  db?: string
  table?: string
}

const newForm = (given: Target) => ({
  db: signal(given.db ?? ''),
  table: signal(given.table ?? ''),
  createsMissing: signal(false),
  file: signal<File | undefined>(undefined),
  /** The head is undefined if the file is NDJSON, or is not read yet. */
  head: signal<CsvHead | undefined>(undefined),
  columns: signal<Columns>({ hashKey: '', rangeKey: undefined, numbers: [] }),
})

/** The last form: it outlives the screen and an import that has failed. */
let kept: { name: string; form: ReturnType<typeof newForm> } | undefined

const formFor = (name: string, given: Target): ReturnType<typeof newForm> => {
  if (kept?.name !== name) kept = { name, form: newForm(given) }
  return kept.form
}

/** `name` is that of the form that is kept. */
const ImportForm = ({ name, ...given }: Target & { name: string }) => {
  const { db, table, createsMissing, file, head, columns } = formFor(name, given)
  const fault = useSignal<unknown>(undefined)
  const isOver = useSignal(false)
  const isMissing = useSignal(false)
  const tables = useComputed(() => {
    const found = contents.value.get(db.value)
    return found && !('error' in found) ? found.tables.map((each) => each.table) : undefined
  })
  useEffect(() => {
    if (catalogue.value?.databases.includes(db.value) && !contents.value.has(db.value)) loadContents(db.value)
  }, [db.value])
  const renamed = (field: Signal<string>) => (name: string) => {
    field.value = name
    isMissing.value = false
  }
  const isBadName = (name: string) => name !== '' && nameFault(name) !== undefined
  const start = () => {
    const target = { db: db.value || undefined, table: table.value || undefined, createsMissing: createsMissing.value }
    runImport(file.value!, target, head.value && { ...columns.value, delimiter: head.value.delimiter })
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    if (file.value === undefined || !isReady || isBadName(db.value) || isBadName(table.value)) return
    fault.value = undefined
    try {
      // A line of NDJSON may declare the table; no row of CSV does.
      isMissing.value = hasCsv && !createsMissing.value && (await findIndices(db.value, table.value)) === undefined
    } catch (error) {
      fault.value = error
      return
    }
    if (!isMissing.value) start()
  }
  const readColumns = async (delimiter?: string) => {
    const chosen = file.value!
    fault.value = undefined
    try {
      const found = await readHead(chosen, delimiter)
      if (file.value !== chosen) return
      columns.value = guessFormat(found)
      head.value = found
    } catch (error) {
      if (file.value !== chosen) return
      fault.value = error
      head.value = undefined
    }
  }
  const choose = (files: FileList | null | undefined) => {
    if (!files?.[0]) return
    file.value = files[0]
    head.value = undefined
    fault.value = undefined
    if (isCsv(file.value)) readColumns()
  }
  const hasCsv = file.value !== undefined && isCsv(file.value)
  const isReady = !hasCsv || (head.value !== undefined && db.value !== '' && table.value !== '')
  const placeholder = hasCsv ? '' : 'as in the lines'
  const isUnknown =
    table.value !== '' && !isBadName(table.value) && tables.value !== undefined && !tables.value.includes(table.value)
  const unknownHint = createsMissing.value
    ? 'There is no such table yet. It will be created.'
    : 'There is no such table yet. Tick "Create missing tables", or create it first.'
  return (
    <form class="stack import-form" onSubmit={submit}>
      <div class="new-facts">
        <NameField
          label="Database"
          hint={hasCsv ? undefined : 'If given, all records go into it, whatever database their lines name.'}
          value={db.value}
          placeholder={placeholder}
          options={catalogue.value?.databases ?? []}
          onInput={renamed(db)}
        />
        <NameField
          label="Table"
          hint={
            isUnknown
              ? unknownHint
              : hasCsv
                ? undefined
                : 'If given, all records go into it. If the lines name several tables, only those of the first one do.'
          }
          value={table.value}
          placeholder={placeholder}
          options={tables.value ?? []}
          onInput={renamed(table)}
        />
      </div>
      <Check
        label="Create missing tables without indices"
        note={hasCsv ? undefined : 'Tables that a line declares are always created, with the indices of that line.'}
        isOn={createsMissing.value}
        onChange={into(createsMissing)}
      />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the input inside does the same by keyboard */}
      <div
        class={isOver.value ? 'import-drop over' : 'import-drop'}
        onDragOver={(event) => {
          event.preventDefault()
          isOver.value = true
        }}
        onDragLeave={set(isOver, false)}
        onDrop={(event) => {
          event.preventDefault()
          isOver.value = false
          choose(event.dataTransfer?.files)
        }}
      >
        <Field
          label="File"
          hint="CSV, or NDJSON with one JSON object per line; also compressed with gzip. Drop it here or choose it."
        >
          {(id, describedBy) => (
            <input
              id={id}
              type="file"
              accept=".csv,.tsv,.ndjson,.jsonl,.json,.gz"
              aria-describedby={describedBy}
              onChange={(event) => choose(event.currentTarget.files)}
            />
          )}
        </Field>
        {file.value !== undefined && (
          <p>
            Chosen: <code>{file.value.name}</code> <span class="muted">{bytesOf(file.value.size)}</span>
          </p>
        )}
      </div>
      {fault.value !== undefined && <ErrorBox error={fault.value} />}
      {head.value !== undefined && <CsvFields head={head.value} chosen={columns} onDelimiter={readColumns} />}
      {isMissing.value && (
        <div class="message warn" role="alert">
          <p>
            <strong>There is no table {`${db.value}/${table.value}`}.</strong> Nothing has been imported.
          </p>
          <p>
            <button
              type="button"
              onClick={() => {
                createsMissing.value = true
                start()
              }}
            >
              Create it and import
            </button>{' '}
            without indices. A table with indices is created under its database, before the import.
          </p>
        </div>
      )}
      <div class="actions">
        <button type="submit" class="filled" disabled={file.value === undefined || !isReady}>
          Import
        </button>
        {hasCsv && head.value !== undefined && !isReady && (
          <span class="muted">Choose the database and the table that the rows go into.</span>
        )}
      </div>
    </form>
  )
}

export const ImportScreen = ({ db, table }: Target) => {
  const organization = session.value?.self.organization
  const state = importState.value?.organization === organization ? importState.value : undefined
  const isRunning = state?.status === 'running' || state?.status === 'stopping'
  const formName = JSON.stringify([organization, db, table, wholeImports.value])
  return (
    <Screen title="Import">
      {!canWrite.value ? (
        <Empty text="A public key reads. Sign in with a secret key to import records." />
      ) : (
        <div class="pad">
          {state !== undefined && <ImportProgress state={state} />}
          {!isRunning && (
            <Section title={state === undefined ? 'Records from a file' : 'Another file'}>
              <ImportForm key={formName} name={formName} db={db} table={table} />
            </Section>
          )}
          <Section title="The members of a line">
            <JsonView text={example} label="Example of a line" />
            <p class="muted">
              The lines of NDJSON are those of <code>{shellCommand('export')}</code>: <code>rangeKey</code>,{' '}
              <code>ttl</code>, <code>db</code> and <code>table</code> are optional, and the text of <code>data</code>{' '}
              is stored as it is written.
            </p>
            <p>
              <strong>Existing records are overwritten.</strong> If two lines have the same key, the later one wins.
              Lines whose <code>ttl</code> has passed are skipped. A bad line is listed, and the import goes on. The
              first line of a CSV file names the columns; each further one is a record, and empty cells are left out.
            </p>
          </Section>
        </div>
      )}
    </Screen>
  )
}
