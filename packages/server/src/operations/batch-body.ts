import { describeValue } from '../core/describe-value.ts'
import { CubbyError } from '../core/errors.ts'
import { batchOperationsMax } from '../core/limits.ts'
import { type ElementList, readListBody } from '../core/text/list-body.ts'

/** The body of a batch. In steps of about `sliceUnits` of text, because a batch may have 12 MiB. */
export const readBatch = (text: string, operationsMax = batchOperationsMax) =>
  readListBody(text, 'operations', operationsMax)

/** A batch has at least one operation, and not too many. */
export const refuseWrongCount = (
  operations: unknown,
  { count }: ElementList,
  operationsMax = batchOperationsMax,
): void => {
  if (!Array.isArray(operations) || count === 0) {
    throw new CubbyError(
      'invalid_request',
      `operations is ${Array.isArray(operations) ? 'empty' : describeValue(operations)}; it takes 1 to ${operationsMax} operations.`,
      { field: 'operations' },
    )
  }
  if (count > operationsMax) {
    throw new CubbyError(
      'batch_too_large',
      `operations has ${count} operations; a batch takes at most ${operationsMax}.`,
      { field: 'operations', hint: `Send them in batches of ${operationsMax}; each is atomic by itself.` },
    )
  }
}
