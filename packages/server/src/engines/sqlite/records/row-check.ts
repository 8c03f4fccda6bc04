import { CubbyError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { takeChecksum } from '../../../core/records/checksum.ts'
import { noRangeKey, type RecordKey } from '../../../core/records/record-key.ts'
import type { StoredRecord } from '../../../core/records/stored-record.ts'

/** At most this many damaged records are logged, one line for each. */
const linesMax = 100

const showKey = ({ hashKey, rangeKey }: RecordKey): string =>
  rangeKey === noRangeKey
    ? `the record with hashKey ${JSON.stringify(hashKey)}`
    : `the record with hashKey ${JSON.stringify(hashKey)} and rangeKey ${JSON.stringify(rangeKey)}`

/** The error for the caller. Other records are served, so the store itself stays ready. */
export const damagedRecord = (key: RecordKey): CubbyError =>
  new CubbyError('store_damaged', `The store is damaged: ${showKey(key)} is not as it was written.`, {
    hint: 'Put or delete that record, which repairs it, or have the operator restore a backup.',
  })

/** Compares rows with their checksums as they are read. */
export class RowCheck {
  readonly #log: Log
  readonly #acceptsUnchecked: boolean
  readonly #logged = new Set<string>()

  /** `acceptsUnchecked`: the store still has rows of version 0.1 without a checksum. */
  constructor(log: Log, acceptsUnchecked: boolean) {
    this.#log = log
    this.#acceptsUnchecked = acceptsUnchecked
  }

  /** Removes the checksum from the end of the record's data. Throws `store_damaged` if the row does not match it. */
  take(tableId: number, record: StoredRecord): void {
    const state = takeChecksum(tableId, record)
    if (state === 'intact' || (state === 'unchecked' && this.#acceptsUnchecked)) return
    this.#note(tableId, record)
    throw damagedRecord(record)
  }

  /** Logs each record once, and a bounded number in all: repeated requests must not fill the log. */
  #note(tableId: number, { hashKey, rangeKey }: RecordKey): void {
    const name = JSON.stringify([tableId, hashKey, rangeKey])
    if (this.#logged.size > linesMax || this.#logged.has(name)) return
    this.#logged.add(name)
    if (this.#logged.size > linesMax) {
      this.#log('error', 'more records are damaged; no further one is logged', { next: 'see which with cubby verify' })
      return
    }
    this.#log('error', 'a record is damaged', {
      tableId,
      hashKey,
      rangeKey,
      next: 'put or delete it, or restore a backup; docs/recovering.md, "When the store is damaged"',
    })
  }
}
