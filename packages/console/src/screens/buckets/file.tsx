import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { curlOf } from '../../api/curl.ts'
import { ApiError } from '../../api/error.ts'
import { bucketPath, filePath, readBytes } from '../../api/files.ts'
import { read, send } from '../../api/request.ts'
import type { FileRow } from '../../api/types.ts'
import { hrefOf, navigate } from '../../router.ts'
import { dropDraft } from '../../state/drafts.ts'
import { canWrite } from '../../state/session.ts'
import { formatJson } from '../../text/format.ts'
import { bytesOf, showInstant } from '../../text/instant.ts'
import { Failure, set, useAction } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { saveAs } from '../../ui/download.ts'
import { Confirm } from '../../ui/form.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Shown, useLoad } from '../../ui/load.tsx'
import { Screen, Section } from '../../ui/screen.tsx'
import { age, Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toasts.tsx'
import { FileEditor } from './file-editor.tsx'
import { FileInput } from './file-input.tsx'
import { FileLinks } from './file-links.tsx'
import { FilePreview } from './file-preview.tsx'
import { VisibilityTag } from './files-table.tsx'
import { folderOf, inFolder, pathTo, routeTo } from './folders.ts'
import { startUploads, uploadsOf } from './uploads.ts'
import { UploadsPanel } from './uploads-panel.tsx'

/** Larger files are not held in memory: the browser fetches them by a link. */
const blobBytesMax = 20_000_000

const Facts = ({ file: { size, contentType, visibility, sha256, updatedAt, ttl } }: { file: FileRow }) => (
  <dl class="facts">
    <dt>size</dt>
    <dd>
      {bytesOf(size)} {size >= 1000 && <span class="muted">{size.toLocaleString('en')} bytes</span>}
    </dd>
    <dt>contentType</dt>
    <dd class="mono">{contentType}</dd>
    <dt>visibility</dt>
    <dd>
      <VisibilityTag of={visibility} />
    </dd>
    <dt>version</dt>
    <dd class="mono">{updatedAt}</dd>
    <dt>written</dt>
    <dd>
      <Time ms={updatedAt} /> <span class="muted">{showInstant(updatedAt).utc}</span>
    </dd>
    <dt>expires</dt>
    <dd>
      {ttl === undefined ? (
        'never'
      ) : (
        <>
          <Time ms={ttl * 1000} /> <span class="muted">{showInstant(ttl * 1000).utc}</span>
        </>
      )}
    </dd>
    <dt>sha256</dt>
    <dd class="mono">
      {sha256} <CopyButton class="link" what="the sha256" text={() => sha256} />
    </dd>
  </dl>
)

export const FileScreen = ({ db, bucket, name }: { db: string; bucket: string; name: string }) => {
  // A name that must not go into a path throws where the error is shown.
  const pathNow = () => filePath(db, bucket, name)
  const folder = folderOf(name)
  const loaded = useLoad((signal) => readRecord(pathNow(), signal), [])
  const isRemoving = useSignal(false)
  const downloading = useAction()
  const list = uploadsOf(db, bucket).filter((upload) => upload.name === name)
  const hasReplaced = list.filter(({ state }) => state.value.at === 'done').length
  useEffect(() => {
    if (hasReplaced > 0) loaded.reload()
  }, [hasReplaced])
  const file = loaded.value.value

  const download = async (row: FileRow) => {
    const last = name.split('/').at(-1)!
    if (row.size <= blobBytesMax) return saveAs(last, await readBytes(pathNow()))
    const body = JSON.stringify({ name, download: true })
    const link = document.createElement('a')
    link.href = (await read<{ url: string }>('POST', `${bucketPath(db, bucket)}/url`, { body })).url
    link.rel = 'noreferrer'
    link.click()
  }
  const remove = async () => {
    try {
      await send('DELETE', pathNow(), { headers: { 'If-Match': `"${loaded.value.value!.updatedAt}"` } })
    } catch (thrown) {
      // The facts above the question are then those of the stored version, and a second press means that one.
      if (thrown instanceof ApiError && thrown.status === 412) await loaded.reload()
      throw thrown
    }
    dropDraft(hrefOf({ screen: 'file', db, bucket, name }))
    navigate(routeTo(db, bucket, folder), { replace: true })
    toast(`${name} is removed.`)
  }
  return (
    <Screen
      path={[
        { label: db, to: { screen: 'database', db } },
        { label: 'Buckets', to: { screen: 'buckets', db } },
        ...pathTo(db, bucket, folder),
      ]}
      title={inFolder(name, folder)}
      isData
      actions={
        file && (
          <>
            <CopyButton label="Copy as curl" text={() => curlOf({ method: 'GET', path: `${pathNow()}?record=true` })} />
            {canWrite.value && (
              <FileInput
                label="Replace"
                onFiles={([body]) =>
                  startUploads(db, bucket, [{ name, body: body!, visibility: file.visibility, replaces: file }])
                }
              />
            )}
            <button type="button" class="filled" onClick={() => downloading.run(() => download(file))}>
              Download
            </button>
          </>
        )
      }
    >
      <div class="pad wide">
        <Failure of={downloading} />
        <UploadsPanel list={list} />
        <Shown of={loaded}>
          {(row) => (
            <div class="file-columns">
              <div class="pad-column">
                <Section title="Preview">
                  <FilePreview key={row.sha256} db={db} bucket={bucket} file={row} />
                </Section>
              </div>
              <div class="pad-column">
                <Section title="Facts">
                  <Facts file={row} />
                </Section>
                {(row.url !== null || canWrite.value) && (
                  <Section title="Links">
                    <FileLinks db={db} bucket={bucket} file={row} />
                  </Section>
                )}
                {canWrite.value ? (
                  <Section title="Change">
                    <FileEditor
                      db={db}
                      bucket={bucket}
                      file={row}
                      onStored={(stored) => {
                        loaded.value.value = stored
                      }}
                    />
                  </Section>
                ) : (
                  <Section title="Metadata">
                    <JsonView text={formatJson(row.metadata)} label="metadata" />
                  </Section>
                )}
                {canWrite.value && (
                  <div class="actions">
                    <button type="button" class="danger apart" onClick={set(isRemoving, true)}>
                      Remove
                    </button>
                  </div>
                )}
              </div>
            </div>
          )}
        </Shown>
      </div>
      {isRemoving.value && file !== undefined && (
        <Confirm title="Remove this file?" action="Remove" run={remove} onClose={set(isRemoving, false)}>
          <p class="wrap">
            <code>{name}</code>: {bytesOf(file.size)}, {file.visibility}, written {age(file.updatedAt)}. Its URLs stop
            working. This cannot be undone.
          </p>
        </Confirm>
      )}
    </Screen>
  )
}

const readRecord = (path: string, signal: AbortSignal): Promise<FileRow> =>
  read<FileRow>('GET', `${path}?record=true`, { signal })
