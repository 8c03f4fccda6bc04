export interface Patch {
  merge?: string
  increments?: { pointer: string; by: string; min?: string; max?: string }[]
  appends?: { pointer: string; values: string }[]
  ttl?: number | null
}
export const parsePatchMembers = (
  _spans: { merge?: string; increment?: string; append?: string },
  _fieldPrefix: string,
): Pick<Patch, 'merge' | 'increments' | 'appends'> => ({})
export const applyPatch = (data: string, _patch: Patch, _fieldPrefix: string): string => data
