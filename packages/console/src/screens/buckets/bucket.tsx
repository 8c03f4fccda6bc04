import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { curlOf } from '../../api/curl.ts'
import { bucketPath } from '../../api/files.ts'
import { read } from '../../api/request.ts'
import type { FileRow, Page } from '../../api/types.ts'
import { hrefOf, navigate, route } from '../../router.ts'
import { canWrite } from '../../state/session.ts'
import { Failure, set, useAction } from '../../ui/action.tsx'
import { announce } from '../../ui/announce.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { More, Shown, usePaged } from '../../ui/load.tsx'
import { Empty, Screen } from '../../ui/screen.tsx'
import { BucketAbout } from './bucket-about.tsx'
import { FileInput } from './file-input.tsx'
import { FilesTable } from './files-table.tsx'
import { type Entry, entriesOf, folderOf, pathTo, prefixOf, routeTo } from './folders.ts'
import { RemoveFiles } from './remove-files.tsx'
import { UploadDialog } from './upload-dialog.tsx'
import { isActive, uploadsOf } from './uploads.ts'
import { UploadsPanel } from './uploads-panel.tsx'

const rowsMax = 100
const typingMs = 250
/** The most pages of 10,000 files that a count reads. */
const countPagesMax = 10

type Order = 'name' | 'nameDown' | 'all' | 'newest' | 'oldest'

const isByTime = (order: Order): boolean => order === 'newest' || order === 'oldest'
const hasFolders = (order: Order): boolean => order === 'name' || order === 'nameDown'

/** The body of the query that the reader has composed. Only listings by name take a prefix and have folders. */
const queryOf = (prefix: string, order: Order, folders = hasFolders(order)): object => ({
  ...(prefix !== '' && { prefix }),
  ...(folders && { folders }),
  ...(isByTime(order) && { index: 't' }),
  ...(order === 'nameDown' && { ascending: false }),
  ...(order === 'oldest' && { ascending: true }),
})

const filesText = (count: number): string => (count === 1 ? '1 file' : `${count.toLocaleString('en')} files`)

const foldersText = (count: number): string => (count === 1 ? '1 folder' : `${count.toLocaleString('en')} folders`)

export const BucketScreen = ({ db, bucket }: { db: string; bucket: string }) => {
  const path = `${bucketPath(db, bucket)}/query`
  const at = route.value
  const addressed = at.screen === 'bucket' ? prefixOf(at.query) : ''
  const prefix = useSignal(addressed ?? '')
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined)
  /** The prefix that typing has put into the address. */
  const typedAddress = useRef<string>(undefined)
  /** The prefix of the query whose files are shown. Nothing is known of another prefix while it is typed. */
  const askedPrefix = useSignal('')
  /** The prefix of the list that was asked for last; its answer may not have come. */
  const lastAsked = useRef<string>(undefined)
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
    if (cursor === null) lastAsked.current = asked
    const body = JSON.stringify({ ...queryOf(asked, order.value), limit: rowsMax, cursor })
    const page = await read<Page<FileRow> & { folders?: string[] }>('POST', path, { body, signal })
    askedPrefix.value = asked
    const folders = page.folders?.length ? ` and ${foldersText(page.folders.length)}` : ''
    announce(`${filesText(page.items.length)}${folders}${page.cursor === null ? '' : ', more follow'}`)
    return entriesOf(page)
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
      const body: string = JSON.stringify({ ...queryOf(prefix.value, order.value, false), select: 'count', cursor })
      const page: Page<never> = await read('POST', path, { body })
      total += page.count
      cursor = page.cursor
    }
    counted.value = cursor === null ? filesText(total) : `${total.toLocaleString('en')}+ files`
    announce(counted.value)
  }

  // The list follows the address: a folder that was opened, the way back, a name that was typed.
  useEffect(() => {
    // More may have been typed since: it must stay.
    const isTyped = addressed === typedAddress.current
    typedAddress.current = undefined
    if (addressed === undefined || isTyped) return
    clearTimeout(typing.current)
    prefix.value = addressed
    if (addressed !== lastAsked.current) ask()
  }, [addressed])
  useEffect(() => () => clearTimeout(typing.current), [])
  const type = (typed: string) => {
    if (typed !== '' && isByTime(order.value)) order.value = 'name'
    prefix.value = typed
    clearTimeout(typing.current)
    typing.current = setTimeout(() => {
      typedAddress.current = typed
      navigate(routeTo(db, bucket, typed), { replace: true })
      ask()
    }, typingMs)
  }

  const list = uploadsOf(db, bucket)
  const activeCount = list.filter(isActive).length
  const done = new Set(list.filter(({ state }) => state.value.at === 'done').map(({ name }) => name))
  useEffect(() => {
    if (activeCount === 0 && done.size > 0) ask()
  }, [activeCount === 0])

  const entries: Entry[] = pages.items()
  const files = entries.flatMap((entry) => ('folder' in entry ? [] : [entry]))
  const folders = entries.flatMap((entry) => ('folder' in entry ? [entry.folder] : []))
  const folder = folderOf(addressed ?? '')
  const place = pathTo(db, bucket, folder)
  const chosenFiles = files.filter(({ name }) => selected.value.has(name))
  const isBare =
    addressed === '' && askedPrefix.value === '' && pages.first.value.value !== undefined && entries.length === 0
  const choose = (list: File[]) => {
    chosen.value = list
  }
  const uploadButton = canWrite.value && <FileInput label="Upload files" class="filled" isMultiple onFiles={choose} />
  return (
    <Screen
      path={[
        { label: db, to: { screen: 'database', db } },
        { label: 'Buckets', to: { screen: 'buckets', db } },
        ...place.slice(0, -1),
      ]}
      title={place.at(-1)!.label}
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
          {addressed === undefined && (
            <div class="message danger" role="alert">
              <p>
                <strong>The address has no folder of this bucket</strong>, but something else behind its question mark.{' '}
                <a href={hrefOf(routeTo(db, bucket, ''))}>Show all files</a>
              </p>
            </div>
          )}
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
                        onInput={(event) => type(event.currentTarget.value)}
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
                        <option value="all">by name, without folders</option>
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
                        <strong>{files.length.toLocaleString('en')}</strong> {files.length === 1 ? 'file' : 'files'}
                        {folders.length > 0 && ` and ${foldersText(folders.length)}`}
                        {pages.cursor.value !== null && ', more follow'}
                      </span>
                      {counted.value === undefined ? (
                        <button type="button" class="link" onClick={() => counting.run(count)}>
                          Count
                        </button>
                      ) : (
                        <span class="muted">{counted} in all</span>
                      )}
                      {chosenFiles.length > 0 && (
                        <button type="button" class="danger apart" onClick={set(removing, chosenFiles)}>
                          Remove {filesText(chosenFiles.length)}
                        </button>
                      )}
                    </div>
                    <Failure of={counting} />
                  </div>
                  {entries.length === 0 ? (
                    <Empty
                      text={
                        askedPrefix.value.endsWith('/') ? (
                          <>There are no files in the folder “{askedPrefix}”.</>
                        ) : (
                          <>No file has a name that begins with “{askedPrefix}”.</>
                        )
                      }
                    >
                      <button type="button" onClick={() => navigate(routeTo(db, bucket, ''))}>
                        Remove the filter
                      </button>
                    </Empty>
                  ) : (
                    <FilesTable
                      db={db}
                      bucket={bucket}
                      folder={hasFolders(order.value) ? folder : ''}
                      folders={folders}
                      files={files}
                      selected={selected}
                      changed={done}
                    />
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
