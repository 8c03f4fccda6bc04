import { randomBytes } from 'node:crypto'

// An id begins with the time, so that uploads at the same time are in the same directory and can share a sync of it. The
// rest is random: a store that was restored from a backup must not give out ids that the other one has used.

export const newBlobId = (nowMs: number): string =>
  nowMs.toString(16).padStart(12, '0') + randomBytes(10).toString('hex')

export const isBlobId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text)

/** The directories of a blob: a new one about every 17 minutes. */
export const blobDirectories = (id: string): [string, string] => [id.slice(0, 5), id.slice(5, 7)]

/** The path of a blob within its place. */
export const blobPath = (id: string): string => [...blobDirectories(id), id].join('/')

/** When the id was made. */
export const blobTimeMs = (id: string): number => Number.parseInt(id.slice(0, 12), 16)
