import type { OperationResult } from '../../../store/records.ts'

/** The length of the longest result of patches; 0 if there are none. */
export const longestPatched = (results: OperationResult[]): number =>
  results.reduce((longest, result) => ('length' in result ? Math.max(longest, result.length) : longest), 0)
