import { type EntriesRule, entriesOf } from '../tables/entries-of.ts'
import { type IndexEntries, slots } from '../tables/indices.ts'
import type { StoredRecord } from './stored-record.ts'

/**
 * Tells a check of the store why a record, whose index entries are `stored`, cannot be one of its table; undefined if it can.
 * Without `rule`, because the row of the table cannot be read, only the data is checked.
 */
export const faultOfRecord = (
  rule: EntriesRule | undefined,
  record: Pick<StoredRecord, 'rangeKey' | 'data' | 'updatedAtMs'>,
  stored: () => IndexEntries,
): string | undefined => {
  try {
    JSON.parse(record.data)
  } catch {
    return 'its data is not JSON'
  }
  if (rule === undefined) return undefined
  try {
    const entries = stored()
    const wrong = entriesOf(rule, record).findIndex((value, i) => value !== entries[i])
    return wrong < 0 ? undefined : `${slots[wrong >> 1]} does not hold what its data says`
  } catch (error) {
    return `its data cannot be indexed: ${(error as Error).message}`
  }
}
