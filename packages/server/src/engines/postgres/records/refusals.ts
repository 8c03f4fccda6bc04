import { CubbyError } from '../../../core/errors.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Table } from '../../../store/tables.ts'
import type { Row, Step } from '../connection/driver.ts'
import { guardState } from './statements.ts'

// Why a write is not applied: its API key was revoked, or its table, bucket or task deleted.

export const revokedApiKey = (): CubbyError => new CubbyError('revoked_api_key', 'The API key has been revoked.')

export const tableGone = ({ kind }: Table): CubbyError =>
  new CubbyError(`${kind}_not_found`, `The ${kind} has been deleted.`)

/** Asks whether both are active. */
export const stateStep = (caller: Caller, table: Table): Step => ({
  statement: guardState,
  values: [table.id, caller.apiKey?.seq ?? null],
})

/** Takes the row that `stateStep` returns. */
export const requireActive = (table: Table, [tableIsActive, keyIsActive]: Row): void => {
  if (keyIsActive === 'f') throw revokedApiKey()
  if (tableIsActive === 'f') throw tableGone(table)
}
