import { slots } from '../../../core/tables/indices.ts'

/** The index columns of a record's row, in the order of its IndexEntries. */
export const indexColumns = slots.flatMap((slot) => [`${slot}_hash`, `${slot}_range`])

/** All index columns of a row `r` as one JSON array of text: the record's IndexEntries. */
export const entriesSql = `json_array(${indexColumns.map((column) => `CAST(r.${column} AS TEXT)`).join(', ')})`
