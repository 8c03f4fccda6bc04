/**
 * The state that the current record must have; otherwise nothing is written. An expired record does not exist.
 * `{ version }`: its updatedAt is exactly this. 'exists': it has any version. 'absent': it does not exist.
 */
export type Condition = { version: number } | 'exists' | 'absent'

/** `current`: the version of the live record; undefined if there is none. */
export const holds = (condition: Condition | undefined, current: number | undefined): boolean => {
  if (condition === undefined) return true
  if (condition === 'absent') return current === undefined
  if (condition === 'exists') return current !== undefined
  return current === condition.version
}
