import type { ActiveBucket, DeletedBucket } from '@cubbydb/client'
import type { Table } from '../../store/tables.ts'
import { presentLife } from '../lifecycle.ts'

export const presentBucket = (bucket: Table): ActiveBucket | DeletedBucket => {
  const { db, name, publicId } = bucket
  return { db, bucket: name, id: publicId!, ...presentLife(bucket) }
}

export const bucketJson = (bucket: Table): string => JSON.stringify(presentBucket(bucket))
