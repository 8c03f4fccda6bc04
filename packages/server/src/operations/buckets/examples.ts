import { type ExampleCall, tableDeletedAt } from '../example.ts'

const bucketCreatedAt = 1767225700000
export const inAvatars = { db: 'app', bucket: 'avatars' }

/** The bucket that the examples of files use too. */
export const avatars = {
  ...inAvatars,
  id: 'bkt_6Qm2sVx9LrT4nYc8WbKd1e',
  status: 'active',
  createdAt: bucketCreatedAt,
}

export const deletedAvatars = {
  ...avatars,
  status: 'deleted',
  deletedAt: tableDeletedAt,
  recoverableUntil: tableDeletedAt + 7 * 24 * 60 * 60 * 1000,
}

export const createAvatars: ExampleCall = { operation: 'createBucket', input: inAvatars, output: avatars }
export const deleteAvatars: ExampleCall = { operation: 'deleteBucket', input: inAvatars, output: deletedAvatars }
