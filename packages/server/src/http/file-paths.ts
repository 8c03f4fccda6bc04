import { fileNameSegmentsMax } from '../core/limits.ts'

// The name of a file is the rest of a path, and Bun's wildcard does not give the rest as it was sent. So there is a path for
// each number of segments, and the wildcard is left with names that have too many, and with empty segments.

/** The path of the files of a bucket. */
const bucketPath = '/v1/:db/_buckets/:bucket'

/** The path of a file as documents show it. */
export const filePath = `${bucketPath}/:name`

/** Words that are verbs for POST below a bucket. For other methods they are names of files. */
const fileVerbs = ['query', 'restore', 'url'] as const

const segmentsPath = (prefix: string, segments: number): string =>
  `${prefix}/${Array.from({ length: segments }, (_, i) => `:name${i + 1}`).join('/')}`

const wildcardOf = (prefix: string): string => `${prefix}/*`

/** Every path at which a file below `prefix` can be, apart from `prefix/:name`. */
export const longNamePaths = (prefix: string): string[] => [
  ...Array.from({ length: fileNameSegmentsMax - 1 }, (_, i) => segmentsPath(prefix, i + 2)),
  wildcardOf(prefix),
]

type Params = Readonly<Record<string, string | undefined>>

/**
 * The parameters of a path that names a file by several segments, with its `name` as one text; undefined for other paths.
 * `%2F` in a segment is a `/` as any other. A name with too many segments is undefined.
 */
export const longNameParameters = (path: string): ((params: Params) => Params) | undefined => {
  if (path.endsWith('/*')) return (params) => ({ ...params, name: undefined })
  const segments = path.match(/:name\d+/g)?.map((name) => name.slice(1))
  if (segments === undefined) return undefined
  return (params) => ({ ...params, name: segments.map((segment) => params[segment]).join('/') })
}

/**
 * Tells whether the wildcard matched a path with an empty segment. `..` is resolved in this URL, so it can tell only which
 * error is the right one, never which file is meant.
 */
export const hasEmptySegment = (url: string): boolean => {
  const path = url.replace(/^[a-z]+:\/\/[^/]*/i, '').split('?', 1)[0]!
  return path.endsWith('/') || path.includes('//')
}

/** The routes of files on all their paths. */
export const withFilePaths = <Methods extends object>(table: Record<string, Methods>): Record<string, Methods> => {
  const files = table[filePath]
  if (files === undefined) return table
  const served = { ...table }
  for (const path of longNamePaths(bucketPath)) served[path] = files
  for (const verb of fileVerbs) {
    const path = `${bucketPath}/${verb}`
    served[path] = { ...files, ...table[path] }
  }
  return served
}
