import { CubbyError } from '../../../core/errors.ts'
import type { Caller } from '../../../store/api-keys.ts'
import type { Table } from '../../../store/tables.ts'
import type { Row, Step } from '../connection/driver.ts'
import { guardState } from './statements.ts'

// Why a write is not applied: its API key was revoked, or its table, bucket, task or organization deleted.

export const revokedApiKey = (): CubbyError => new CubbyError('revoked_api_key', 'The API key has been revoked.')

export const organizationDeleted = (): CubbyError =>
  new CubbyError('invalid_api_key', 'The organization has been deleted.')

export const tableGone = ({ kind }: Table): CubbyError =>
  new CubbyError(`${kind}_not_found`, `The ${kind} has been deleted.`)

/** Asks whether they are active. */
export const stateStep = (caller: Caller, table: Table): Step => ({
  statement: guardState,
  values: [table.id, caller.apiKey?.seq ?? null],
})

/** Takes the row that `stateStep` returns. */
export const requireActive = (table: Table, [tableIsActive, keyIsActive, organizationIsActive]: Row): void => {
  if (organizationIsActive === 'f') throw organizationDeleted()
  if (keyIsActive === 'f') throw revokedApiKey()
  if (tableIsActive === 'f') throw tableGone(table)
}
