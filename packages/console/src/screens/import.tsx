import { signal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useId, useMemo } from 'preact/hooks'
import { catalogue, contents, loadContents } from '../state/catalogue.ts'
import { canWrite, session } from '../state/session.ts'
import { bytesOf } from '../text/instant.ts'
import { nameFault } from '../text/names.ts'
import { into, set } from '../ui/action.tsx'
import { Check, Field } from '../ui/form.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { Empty, Screen, Section } from '../ui/screen.tsx'
import { ImportProgress } from './import/import-progress.tsx'
import { importState, runImport } from './import/import-run.ts'

const example = '{"hashKey":"ada","rangeKey":"o-1","data":{"status":"open","total":40.0}}'

interface NameProps {
  label: string
  hint: string
  value: string
  options: string[]
  onInput: (name: string) => void
}

/** One of the existing names, or another. */
const NameField = ({ label, hint, value, options, onInput }: NameProps) => {
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
            placeholder="as in the lines"
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

// They stay for the next file of the same organization.
let owner: string | undefined
const db = signal('')
const table = signal('')
const createsMissing = signal(false)

const forgetOthers = (organization: string | undefined): void => {
  if (owner === organization) return
  owner = organization
  db.value = ''
  table.value = ''
  createsMissing.value = false
}

const ImportForm = () => {
  const file = useSignal<File | undefined>(undefined)
  const isOver = useSignal(false)
  const tables = useComputed(() => {
    const found = contents.value.get(db.value)
    return found && !('error' in found) ? found.tables.map((each) => each.table) : []
  })
  useEffect(() => {
    if (catalogue.value?.databases.includes(db.value) && !contents.value.has(db.value)) loadContents(db.value)
  }, [db.value])
  const isBadName = (name: string) => name !== '' && nameFault(name) !== undefined
  const submit = (event: Event) => {
    event.preventDefault()
    if (file.value === undefined || isBadName(db.value) || isBadName(table.value)) return
    runImport(file.value, {
      db: db.value || undefined,
      table: table.value || undefined,
      createsMissing: createsMissing.value,
    })
  }
  const choose = (files: FileList | null | undefined) => {
    if (files?.[0]) file.value = files[0]
  }
  return (
    <form class="stack import-form" onSubmit={submit}>
      <div class="new-facts">
        <NameField
          label="Database"
          hint="Outranks the db of the lines."
          value={db.value}
          options={catalogue.value?.databases ?? []}
          onInput={into(db)}
        />
        <NameField
          label="Table"
          hint="Outranks the table of the lines. Two tables of a file are never mixed in one."
          value={table.value}
          options={tables.value}
          onInput={into(table)}
        />
      </div>
      <Check
        label="Create missing tables without indices"
        note="Tables that a line declares are always created, with the indices of that line."
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
          hint="NDJSON: one JSON object per line, also compressed with gzip. Drop it here or choose it."
        >
          {(id, describedBy) => (
            <input
              id={id}
              type="file"
              accept=".ndjson,.jsonl,.json,.gz"
              aria-describedby={describedBy}
              onChange={(event) => choose(event.currentTarget.files)}
            />
          )}
        </Field>
        {file.value !== undefined && (
          <p>
            <code>{file.value.name}</code> <span class="muted">{bytesOf(file.value.size)}</span>
          </p>
        )}
      </div>
      <div class="actions">
        <button type="submit" class="filled" disabled={file.value === undefined}>
          Import
        </button>
      </div>
    </form>
  )
}

export const ImportScreen = () => {
  const organization = session.value?.self.organization
  useMemo(() => forgetOthers(organization), [organization])
  const state = importState.value?.organization === organization ? importState.value : undefined
  const isRunning = state?.status === 'running' || state?.status === 'stopping'
  return (
    <Screen title="Import">
      {!canWrite.value ? (
        <Empty text="A public key reads. Sign in with a secret key to import records." />
      ) : (
        <div class="pad">
          {state !== undefined && <ImportProgress state={state} />}
          {!isRunning && (
            <Section title={state === undefined ? 'Records from a file' : 'Another file'}>
              <ImportForm />
            </Section>
          )}
          <Section title="What a line has">
            <JsonView text={example} label="Example of a line" />
            <p class="muted">
              The lines are those of <code>cubby export</code>: <code>rangeKey</code>, <code>ttl</code>, <code>db</code>{' '}
              and <code>table</code> are optional, and the text of <code>data</code> is stored as it is written.
            </p>
            <p>
              <strong>Existing records are overwritten.</strong> If two lines have the same key, the later one wins.
              Lines whose <code>ttl</code> has passed are skipped. A bad line is listed, and the import goes on.
            </p>
          </Section>
        </div>
      )}
    </Screen>
  )
}
