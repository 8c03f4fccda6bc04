import { useSignal } from '@preact/signals'
import { ApiError } from '../api/error.ts'
import { pathOf, send } from '../api/request.ts'
import type { Slot } from '../api/types.ts'
import { navigate } from '../router.ts'
import { refreshRail } from '../state/catalogue.ts'
import { createdTables } from '../state/overlay.ts'
import { nameFault } from '../text/names.ts'
import { into } from '../ui/action.tsx'
import { Check, FormDialog, TextField } from '../ui/form.tsx'
import { HoursField, hoursDefault, hoursFault } from './keep-changes.tsx'

const slots: Slot[] = ['i1', 'i2', 'i3', 'i4', 'i5']

interface IndexRow {
  hashField: string
  rangeField: string
}

/** Leaves out the rows that nothing was typed into. */
const declarationOf = (rows: IndexRow[]) =>
  Object.fromEntries(
    rows
      .filter(({ hashField, rangeField }) => hashField !== '' || rangeField !== '')
      .map(({ hashField, rangeField }, index) => [
        slots[index]!,
        { hashField, ...(rangeField !== '' && { rangeField }) },
      ]),
  )

interface Props {
  db?: string
  table?: string
  onClose: () => void
}

/** Creates a table; with `db` in that database, with `table` of that name. */
export const CreateTable = ({ db: givenDb, table: givenTable, onClose }: Props) => {
  const db = useSignal(givenDb ?? '')
  const table = useSignal(givenTable ?? '')
  const rows = useSignal<IndexRow[]>([])
  const keepsChanges = useSignal(false)
  const hours = useSignal(hoursDefault)
  const wasSubmitted = useSignal(false)
  const faultOf = (name: string) => (wasSubmitted.value || name !== '' ? nameFault(name) : undefined)
  const change = (at: number, field: keyof IndexRow, value: string) => {
    rows.value = rows.value.map((row, index) => (index === at ? { ...row, [field]: value } : row))
  }
  const create = async () => {
    wasSubmitted.value = true
    if (nameFault(db.value) !== undefined || nameFault(table.value) !== undefined) return
    if (keepsChanges.value && hoursFault(hours.value) !== undefined) return
    const changes = keepsChanges.value ? { keepHours: Number(hours.value) } : undefined
    const answer = await send('POST', pathOf('v1', db.value, table.value), {
      body: JSON.stringify({ indices: declarationOf(rows.value), changes }),
    })
    if (answer.status === 200) {
      throw new ApiError(200, 'table_exists', 'This table exists already.', 'Open it instead.', 'table', undefined)
    }
    await refreshRail(db.value)
    createdTables.value++
    onClose()
    navigate({ screen: 'table', db: db.value, table: table.value })
  }
  return (
    <FormDialog title="Create a table" action="Create" isWide run={create} onClose={onClose}>
      {givenDb === undefined && (
        <TextField label="Database" value={db.value} fault={faultOf(db.value)} onText={into(db)} />
      )}
      <TextField label="Table" value={table.value} fault={faultOf(table.value)} onText={into(table)} />
      <fieldset class="section plain">
        <legend>Indices</legend>
        <p class="muted">
          Up to five, for queries by a field of the data. They cannot be changed later. Records without the field are
          left out of the index.
        </p>
        {rows.value.map((row, index) => (
          <div class="index-row" key={index}>
            <code>{slots[index]}</code>
            <input
              class="mono"
              aria-label={`${slots[index]} hash field`}
              placeholder="hash field, such as status"
              autocomplete="off"
              value={row.hashField}
              onInput={(event) => change(index, 'hashField', event.currentTarget.value)}
            />
            <input
              class="mono"
              aria-label={`${slots[index]} range field`}
              placeholder="range field (optional)"
              autocomplete="off"
              value={row.rangeField}
              onInput={(event) => change(index, 'rangeField', event.currentTarget.value)}
            />
            <button
              type="button"
              class="quiet"
              aria-label={`Remove ${slots[index]}`}
              onClick={() => {
                rows.value = rows.value.filter((_, at) => at !== index)
              }}
            >
              ×
            </button>
          </div>
        ))}
        {rows.value.length < slots.length && (
          <div>
            <button
              type="button"
              onClick={() => {
                rows.value = [...rows.value, { hashField: '', rangeField: '' }]
              }}
            >
              Add an index
            </button>
          </div>
        )}
      </fieldset>
      <Check
        label="Keep changes"
        note="Programs can follow the table, and its page shows what others write as it happens."
        isOn={keepsChanges.value}
        onChange={into(keepsChanges)}
      />
      {keepsChanges.value && <HoursField value={hours.value} onText={into(hours)} />}
    </FormDialog>
  )
}
