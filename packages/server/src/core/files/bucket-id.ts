import { randomBase62 } from '../text/base62.ts'

/** Random, so that nobody can guess the URLs of a bucket. */
export const newBucketId = (): string => `bkt_${randomBase62(22)}`

export const isBucketId = (text: string): boolean => /^bkt_[0-9A-Za-z]{22}$/.test(text)
