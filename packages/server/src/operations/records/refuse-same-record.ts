import { CubbyError } from '../../core/errors.ts'
import type { RecordKey } from '../../core/records/record-key.ts'

/** Rejects a request whose list `name` has two elements for one record. */
export const refuseSameRecord = (elements: readonly RecordKey[], name: string, hint: string): void => {
  const seen = new Map<string, number>()
  elements.forEach(({ hashKey, rangeKey }, position) => {
    const slot = JSON.stringify([hashKey, rangeKey])
    const earlier = seen.get(slot)
    if (earlier !== undefined) {
      throw new CubbyError(
        'batch_duplicate_keys',
        `${name}[${position}] names the same record as ${name}[${earlier}].`,
        { field: `${name}[${position}]`, hint },
      )
    }
    seen.set(slot, position)
  })
}
