import { randomBytes } from 'node:crypto'

// An id begins with the time, so that uploads at the same time are in the same directory and can share a sync of it. The
// rest is random: a store that was restored from a backup must not give out ids that the other one has used.

export const newBlobId = (nowMs: number): string =>
  nowMs.toString(16).padStart(12, '0') + randomBytes(10).toString('hex')

/** The id of a blob whose bytes are in a place. */
export const isBlobId = (text: string): boolean => /^[0-9a-e][0-9a-f]{31}$/.test(text)

// The bytes of a small file are in the store. The id says so, and nothing has to look for them in two places. The first
// digit of a time is 0 for another 8,000 years. To a process of an earlier version it is an id like any other: it can replace
// and remove such a file, but does not find its bytes.

export const newStoreBlobId = (nowMs: number): string => `f${newBlobId(nowMs).slice(1)}`

export const isStoreBlobId = (text: string): boolean => /^f[0-9a-f]{31}$/.test(text)

/**
 * The due time of a blob whose bytes another store may have written: never. Such a live blob has it too, where others have
 * none.
 */
export const neverDueMs = Number.MAX_SAFE_INTEGER

/** The directories of a blob: a new one about every 17 minutes. */
export const blobDirectories = (id: string): [string, string] => [id.slice(0, 5), id.slice(5, 7)]

/** The path of a blob within its place. */
export const blobPath = (id: string): string => [...blobDirectories(id), id].join('/')
