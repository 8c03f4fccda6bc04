import type { FileRow, Page } from '../../api/types.ts'
import { hrefOf, type Route, readQuery, writeQuery } from '../../router.ts'

// The place in a bucket is the prefix of the names that are listed, which is in the address. Folders are not stored; they
// are the parts of names up to a `/`.

export type Entry = { folder: string } | FileRow

/** A page of files, with the folders first. */
export const entriesOf = ({ items, folders = [], ...page }: Page<FileRow> & { folders?: string[] }): Page<Entry> => ({
  ...page,
  items: [...folders.map((folder) => ({ folder })), ...items],
})

/** The part up to the last `/`. */
export const folderOf = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1)

/** The name without the folder that the reader is in. */
export const inFolder = (name: string, folder: string): string =>
  name.startsWith(folder) ? name.slice(folder.length) : name

export const routeTo = (db: string, bucket: string, prefix: string): Route => ({
  screen: 'bucket',
  db,
  bucket,
  query: prefix === '' ? undefined : writeQuery([['prefix', prefix]]),
})

export const folderHref = (db: string, bucket: string, folder: string): string => hrefOf(routeTo(db, bucket, folder))

/** The prefix in the address of a bucket; undefined if the address has something else behind its `?`. */
export const prefixOf = (query = ''): string | undefined => {
  if (query === '') return ''
  const pairs = readQuery(query)
  return pairs?.length === 1 && pairs[0]![0] === 'prefix' ? pairs[0]![1] : undefined
}

/** The bucket and each folder down to this one, outermost first, with their names. */
export const pathTo = (db: string, bucket: string, folder: string): { label: string; to: Route }[] => {
  const steps = folder.split('/').slice(0, -1)
  return [
    { label: bucket, to: routeTo(db, bucket, '') },
    ...steps.map((label, i) => ({ label, to: routeTo(db, bucket, `${steps.slice(0, i + 1).join('/')}/`) })),
  ]
}
