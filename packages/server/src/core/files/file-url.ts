/** A name as a path: each segment is percent-encoded once, and `/` stays. */
export const encodeFileName = (name: string): string => name.split('/').map(encodeURIComponent).join('/')

/** The path of a file's URL. It does not name the organization, the database or the bucket. */
const filePath = (bucketId: string, name: string): string => `/files/${bucketId}/${encodeFileName(name)}`

/** The URL of a file. `base` has no slash at its end. `query` is encoded already and has no `?`. */
export const fileUrl = (base: string, bucketId: string, name: string, query?: string): string => {
  const url = base + filePath(bucketId, name)
  return query === undefined || query === '' ? url : `${url}?${query}`
}
