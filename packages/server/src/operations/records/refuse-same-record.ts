import { CubbyError } from '../../core/errors.ts'
import type { RecordKey } from '../../core/records/record-key.ts'

/** Rejects a request whose list `name` has two elements for one record. Elements that are about no record do not count. */
export const refuseSameRecord = (
  elements: readonly ((RecordKey & { table?: string }) | { op: 'run' | 'finish' })[],
  name: string,
  hint: string,
): void => {
  if (elements.length < 2) return
  const seen = new Map<string, number>()
  elements.forEach((element, position) => {
    if (!('hashKey' in element)) return
    const { hashKey, rangeKey, table } = element
    const slot = JSON.stringify([hashKey, rangeKey, table])
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
