import { useSignal } from '@preact/signals'
import { pageRowsMax } from '../../../../server/src/core/limits.ts'
import { bucketPath } from '../../api/files.ts'
import { read } from '../../api/request.ts'
import type { FileRow, Page } from '../../api/types.ts'
import { bytesOf } from '../../text/instant.ts'
import { Failure, useAction } from '../../ui/action.tsx'
import { Bars } from '../../ui/bars.tsx'

/** Each class ends before its bytes. */
const classes = [
  { label: 'under 1 kB', below: 1e3 },
  { label: '1 to 10 kB', below: 1e4 },
  { label: '10 to 100 kB', below: 1e5 },
  { label: '100 kB to 1 MB', below: 1e6 },
  { label: '1 to 10 MB', below: 1e7 },
  { label: '10 to 100 MB', below: 1e8 },
  { label: '100 MB to 1 GB', below: 1e9 },
  { label: '1 GB and more', below: Number.POSITIVE_INFINITY },
]

const sizeClasses = (sizes: readonly number[]): { label: string; count: number }[] => {
  const counts = classes.map(({ label }) => ({ label, count: 0 }))
  for (const size of sizes) counts[classes.findIndex(({ below }) => size < below)]!.count++
  return counts
}

/** A picture costs at most so many requests. */
const pagesMax = 5

interface Props {
  db: string
  bucket: string
  /** Those of the list. */
  files: readonly FileRow[]
  hasMore: boolean
}

/** Of the listed files, or on demand of the first 5,000 of the bucket. */
export const Sizes = ({ db, bucket, files, hasMore }: Props) => {
  const read5 = useSignal<{ files: FileRow[]; isAll: boolean } | undefined>(undefined)
  const looking = useAction()
  const look = async () => {
    const found: FileRow[] = []
    let cursor: string | null = null
    for (let page = 0; page === 0 || (cursor !== null && page < pagesMax); page++) {
      const body: string = JSON.stringify({ limit: pageRowsMax, cursor })
      const next: Page<FileRow> = await read('POST', `${bucketPath(db, bucket)}/query`, { body })
      found.push(...next.items)
      cursor = next.cursor
    }
    read5.value = { files: found, isAll: cursor === null }
  }
  const shown = read5.value?.files ?? files
  const isAll = read5.value?.isAll ?? !hasMore
  const total = shown.reduce((sum, { size }) => sum + size, 0)
  const count = shown.length.toLocaleString('en')
  const which = isAll ? `${count} files` : `the first ${count} files, more follow`
  return (
    <div class="sizes">
      <Bars title={`Sizes of ${which}: ${bytesOf(total)} together`} bars={sizeClasses(shown.map(({ size }) => size))} />
      <Failure of={looking} />
      {hasMore && read5.value === undefined && (
        <button type="button" class="link" onClick={() => looking.run(look)}>
          Look at up to 5,000 files
        </button>
      )}
    </div>
  )
}
