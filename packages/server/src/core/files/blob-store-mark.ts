import { randomBytes } from 'node:crypto'

/** Random: no two stores have the same one, unless one is a copy that some other tool made. */
export const newStoreId = (): string => randomBytes(16).toString('hex')

/**
 * The mark of a place begins with the id of the store whose files are there. The rest is random: two places never have the
 * same.
 */
export const newBlobStoreMark = (storeId: string): string => storeId + randomBytes(16).toString('hex')

export const isBlobStoreMark = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

export const isMarkOf = (mark: string, storeId: string): boolean => isBlobStoreMark(mark) && mark.startsWith(storeId)
