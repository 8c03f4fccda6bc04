import { useSignal } from '@preact/signals'
import { curlOf } from '../api/curl.ts'
import { pathOf, read } from '../api/request.ts'
import type { TableMetadata } from '../api/types.ts'
import { into } from '../ui/action.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Confirm, FormDialog, TextField } from '../ui/form.tsx'

// Dialogs that let a table keep its changes, or end that.

export const hoursDefault = '24'
const hoursMax = 168

/** The fault of the typed hours. */
export const hoursFault = (typed: string): string | undefined =>
  /^[1-9]\d{0,2}$/.test(typed.trim()) && Number(typed) <= hoursMax
    ? undefined
    : `It takes a whole number from 1 to ${hoursMax}.`

interface HoursProps {
  value: string
  onText: (text: string) => void
}

export const HoursField = ({ value, onText }: HoursProps) => (
  <TextField
    label="Hours"
    value={value}
    inputMode="numeric"
    hint={`1 to ${hoursMax}. Every change is kept at least that long; a reader that stays away longer begins again.`}
    fault={hoursFault(value)}
    onText={onText}
  />
)

interface Props {
  db: string
  table: string
  /** The hours that are kept now; absent if the table keeps no changes. */
  keepHours?: number
  onKept: (table: TableMetadata) => void
  onClose: () => void
}

const requestOf = (db: string, table: string, keepHours: number | null) =>
  ({ method: 'PUT', path: pathOf('v1', db, table, 'changes'), body: JSON.stringify({ keepHours }) }) as const

const keep = (db: string, table: string, keepHours: number | null): Promise<TableMetadata> => {
  const { method, path, body } = requestOf(db, table, keepHours)
  return read<TableMetadata>(method, path, { body })
}

/** Asks for the hours. */
export const KeepChanges = ({ db, table, keepHours, onKept, onClose }: Props) => {
  const hours = useSignal(keepHours === undefined ? hoursDefault : String(keepHours))
  const fault = hoursFault(hours.value)
  return (
    <FormDialog
      title={keepHours === undefined ? `Keep the changes of ${table}?` : `How long ${table} keeps its changes`}
      action={keepHours === undefined ? 'Keep changes' : 'Save'}
      isDisabled={fault !== undefined}
      run={async () => {
        onKept(await keep(db, table, Number(hours.value)))
        onClose()
      }}
      onClose={onClose}
      more={
        fault === undefined && (
          <CopyButton label="Copy as curl" text={() => curlOf(requestOf(db, table, Number(hours.value)))} />
        )
      }
    >
      {keepHours === undefined && (
        <p>
          The page of the table then shows what others write as it happens, and programs can read every change in order.
          Each write adds one small entry to a log.
        </p>
      )}
      <HoursField value={hours.value} onText={into(hours)} />
    </FormDialog>
  )
}

/** Asks before every cursor ends. */
export const EndChanges = ({ db, table, onKept, onClose }: Omit<Props, 'keepHours'>) => (
  <Confirm
    title={`End the changes of ${table}?`}
    action="End the changes"
    name={table}
    run={async () => onKept(await keep(db, table, null))}
    onClose={onClose}
  >
    <p>
      The kept changes are removed, and the cursor of every reader ends: programs that follow this table get an error
      and must read it again from its start, also if you keep changes again. The records stay.
    </p>
  </Confirm>
)
