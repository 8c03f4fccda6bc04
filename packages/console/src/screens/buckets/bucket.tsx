import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { curlOf } from '../../api/curl.ts'
import { bucketPath } from '../../api/files.ts'
import { read } from '../../api/request.ts'
import type { FileRow, Page } from '../../api/types.ts'
import { canWrite } from '../../state/session.ts'
import { Failure, set, useAction } from '../../ui/action.tsx'
import { announce } from '../../ui/announce.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { More, Shown, usePaged } from '../../ui/load.tsx'
import { Empty, Screen } from '../../ui/screen.tsx'
import { BucketAbout } from './bucket-about.tsx'
import { FileInput } from './file-input.tsx'
import { FilesTable } from './files-table.tsx'
import { RemoveFiles } from './remove-files.tsx'
import { Sizes } from './sizes.tsx'
import { UploadDialog } from './upload-dialog.tsx'
import { isActive, uploadsOf } from './uploads.ts'
import { UploadsPanel } from './uploads-panel.tsx'

const rowsMax = 100
const typingMs = 250
/** A count reads at most so many pages of 10,000. */
const countPagesMax = 10

type Order = 'name' | 'nameDown' | 'newest' | 'oldest'

/** The body of the query that the reader has composed. Only listings by name take a prefix. */
const queryOf = (prefix: string, order: Order): object => ({
  ...(prefix !== '' && { prefix }),
  ...((order === 'newest' || order === 'oldest') && { index: 't' }),
  ...(order === 'nameDown' && { ascending: false }),
  ...(order === 'oldest' && { ascending: true }),
})

const filesText = (count: number): string => (count === 1 ? '1 file' : `${count.toLocaleString('en')} files`)

export const BucketScreen = ({ db, bucket }: { db: string; bucket: string }) => {
  const path = `${bucketPath(db, bucket)}/query`
  const prefix = useSignal('')
  /** Of the query whose files are shown: while another is typed, nothing is known of it. */
  const askedPrefix = useSignal('')
  const order = useSignal<Order>('name')
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const chosen = useSignal<File[]>([])
  const removing = useSignal<FileRow[]>([])
  const isAbout = useSignal(false)
  const isOver = useSignal(false)
  const counted = useSignal<string | undefined>(undefined)
  const counting = useAction()

  const pages = usePaged(async (cursor, signal) => {
    const asked = prefix.value
    const body = JSON.stringify({ ...queryOf(asked, order.value), limit: rowsMax, cursor })
    const page = await read<Page<FileRow>>('POST', path, { body, signal })
    askedPrefix.value = asked
    announce(`${filesText(page.count)}${page.cursor === null ? '' : ', more follow'}`)
    return page
  })
  const ask = () => {
    counted.value = undefined
    selected.value = new Set()
    pages.first.reload()
  }
  const count = async () => {
    let total = 0
    let cursor: string | null = null
    for (let at = 0; at === 0 || (cursor !== null && at < countPagesMax); at++) {
      const body: string = JSON.stringify({ ...queryOf(prefix.value, order.value), select: 'count', cursor })
      const page: Page<never> = await read('POST', path, { body })
      total += page.count
      cursor = page.cursor
    }
    counted.value = cursor === null ? filesText(total) : `${total.toLocaleString('en')}+ files`
    announce(counted.value)
  }

  // While a name is typed, the files of the last query stay.
  useEffect(() => {
    if (pages.first.value.value === undefined) return
    const timer = setTimeout(ask, typingMs)
    return () => clearTimeout(timer)
  }, [prefix.value])

  const list = uploadsOf(db, bucket)
  const activeCount = list.filter(isActive).length
  const done = new Set(list.filter(({ state }) => state.value.at === 'done').map(({ name }) => name))
  useEffect(() => {
    if (activeCount === 0 && done.size > 0) ask()
  }, [activeCount === 0])

  const files = pages.items()
  const chosenFiles = files.filter(({ name }) => selected.value.has(name))
  const isBare = askedPrefix.value === '' && pages.first.value.value !== undefined && files.length === 0
  const choose = (list: File[]) => {
    chosen.value = list
  }
  const uploadButton = canWrite.value && <FileInput label="Upload files" class="filled" isMultiple onFiles={choose} />
  return (
    <Screen
      path={[
        { label: db, to: { screen: 'database', db } },
        { label: 'Buckets', to: { screen: 'buckets', db } },
      ]}
      title={bucket}
      actions={
        <>
          <CopyButton
            label="Copy as curl"
            text={() => curlOf({ method: 'POST', path, body: JSON.stringify(queryOf(prefix.value, order.value)) })}
          />
          <button type="button" onClick={set(isAbout, true)}>
            About
          </button>
          {pages.first.value.value !== undefined && !isBare && uploadButton}
        </>
      }
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button does the same by keyboard */}
      <div
        class={isOver.value ? 'drop over' : 'drop'}
        onDragOver={(event) => {
          if (!canWrite.value || !event.dataTransfer?.types.includes('Files')) return
          event.preventDefault()
          isOver.value = true
        }}
        onDragLeave={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget as Node | null)) isOver.value = false
        }}
        onDrop={(event) => {
          isOver.value = false
          if (!canWrite.value) return
          event.preventDefault()
          choose([...(event.dataTransfer?.files ?? [])])
        }}
      >
        <div class="pad wide">
          <UploadsPanel list={list} />
          <Shown of={pages.first}>
            {() =>
              isBare ? (
                <Empty
                  text={
                    canWrite.value
                      ? 'This bucket has no files. Drop some here, or choose them.'
                      : 'This bucket has no public files. A public key sees no others.'
                  }
                >
                  {uploadButton}
                </Empty>
              ) : (
                <>
                  <div class="bucket-top">
                    <div class="stack">
                      <div class="actions">
                        <input
                          type="search"
                          class="mono prefix"
                          aria-label="Only names that begin with"
                          placeholder="Name begins with  /"
                          data-focus-key="/"
                          spellcheck={false}
                          value={prefix}
                          onInput={({ currentTarget: { value } }) => {
                            if (value !== '' && (order.value === 'newest' || order.value === 'oldest'))
                              order.value = 'name'
                            prefix.value = value
                          }}
                        />
                        <select
                          aria-label="Order"
                          value={order.value}
                          onChange={({ currentTarget: { value } }) => {
                            order.value = value as Order
                            ask()
                          }}
                        >
                          <option value="name">by name</option>
                          <option value="nameDown">by name, last first</option>
                          <option value="newest" disabled={prefix.value !== ''}>
                            newest first
                          </option>
                          <option value="oldest" disabled={prefix.value !== ''}>
                            oldest first
                          </option>
                        </select>
                      </div>
                      <div class="actions">
                        <span>
                          <strong>{files.length.toLocaleString('en')}</strong>{' '}
                          {pages.cursor.value === null ? 'files' : 'files, more follow'}
                        </span>
                        {counted.value === undefined ? (
                          <button type="button" class="link" onClick={() => counting.run(count)}>
                            Count
                          </button>
                        ) : (
                          <span class="muted">{counted} in all</span>
                        )}
                        {chosenFiles.length > 0 && (
                          <button type="button" class="danger" onClick={set(removing, chosenFiles)}>
                            Remove {filesText(chosenFiles.length)}
                          </button>
                        )}
                      </div>
                      <Failure of={counting} />
                    </div>
                    <Sizes db={db} bucket={bucket} files={files} hasMore={pages.cursor.value !== null} />
                  </div>
                  {files.length === 0 ? (
                    <Empty text={<>No file has a name that begins with “{askedPrefix}”.</>}>
                      <button type="button" onClick={set(prefix, '')}>
                        Remove the filter
                      </button>
                    </Empty>
                  ) : (
                    <FilesTable db={db} bucket={bucket} files={files} selected={selected} changed={done} />
                  )}
                  <More of={pages} />
                </>
              )
            }
          </Shown>
        </div>
        {isOver.value && <p class="drop-hint">Drop files to upload them to {bucket}</p>}
      </div>
      {chosen.value.length > 0 && (
        <UploadDialog db={db} bucket={bucket} files={chosen.value} prefix={prefix.value} onClose={() => choose([])} />
      )}
      {removing.value.length > 0 && (
        <RemoveFiles
          db={db}
          bucket={bucket}
          files={removing.value}
          onClose={(hasRun) => {
            removing.value = []
            if (hasRun) ask()
          }}
        />
      )}
      {isAbout.value && <BucketAbout db={db} bucket={bucket} onClose={set(isAbout, false)} />}
    </Screen>
  )
}
