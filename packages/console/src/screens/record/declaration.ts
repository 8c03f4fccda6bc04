import type { ReadonlySignal } from '@preact/signals'
import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { pathOf, read } from '../../api/request.ts'
import type { Indices, TableMetadata } from '../../api/types.ts'
import { contents } from '../../state/catalogue.ts'

/** The indices of a table: from the catalogue, or read if it does not have them. undefined: not known yet. */
export const useIndices = (db: string, table: string): ReadonlySignal<Indices | undefined> => {
  const own = useSignal<Indices | undefined>(undefined)
  const known = useComputed(() => {
    const found = contents.value.get(db)
    const listed = found && !('error' in found) ? found.tables.find((each) => each.table === table) : undefined
    return listed?.indices ?? own.value
  })
  useEffect(() => {
    if (known.peek() !== undefined) return
    // Without it the status line says less; what is wrong with the table, the record's own request says.
    read<TableMetadata>('GET', pathOf('v1', db, table)).then(
      ({ indices }) => {
        own.value = indices
      },
      () => {},
    )
  }, [db, table])
  return known
}
