import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { fileMetadataBytesMax } from '../../../../server/src/core/limits.ts'
import { ApiError } from '../../api/error.ts'
import { filePath } from '../../api/files.ts'
import { read } from '../../api/request.ts'
import type { FileRow } from '../../api/types.ts'
import { guardLeaving, hrefOf } from '../../router.ts'
import { draftOf, dropDraft, keepDraft } from '../../state/drafts.ts'
import { recordBytes } from '../../text/check.ts'
import { formatJson } from '../../text/format.ts'
import { showInstant } from '../../text/instant.ts'
import { set } from '../../ui/action.tsx'
import { announce } from '../../ui/announce.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Choice, TextField } from '../../ui/form.tsx'
import { Conflict } from './conflict.tsx'
import { type FileForm, formOf, formText, metadataFault, patchOf, ttlFault, ttlOf } from './file-form.ts'

interface Props {
  db: string
  bucket: string
  file: FileRow
  /** Called after a save, or when the reader takes the stored version. */
  onStored: (file: FileRow) => void
}

const visibilities = [
  ['private', 'private'],
  ['public', 'public'],
] as const

/** Changes what is stored about a file. Texts that are not saved are kept as a draft. */
export const FileEditor = ({ db, bucket, file, onStored }: Props) => {
  const place = hrefOf({ screen: 'file', db, bucket, name: file.name })
  const draft = draftOf(place)
  const form = useSignal<FileForm>(draft ? (JSON.parse(draft.text) as FileForm) : formOf(file))
  /** The version that the form began from. */
  const base = useSignal<FileRow>(draft?.base === undefined ? file : (JSON.parse(draft.base) as FileRow))
  const error = useSignal<unknown>(undefined)
  const conflict = useSignal<FileRow | undefined>(undefined)
  const isRunning = useSignal(false)
  const patch = patchOf(form.value, formOf(base.value))
  const faults = { ttl: ttlFault(form.value.ttl), metadata: metadataFault(form.value.metadata) }
  const hasFault = faults.ttl !== undefined || faults.metadata !== undefined

  useEffect(() => guardLeaving(() => patchOf(form.value, formOf(base.value)) !== undefined), [])
  // Another version was read, and nothing of this form is lost by showing it.
  useEffect(() => {
    if (patchOf(form.value, formOf(base.value)) !== undefined) return
    base.value = file
    form.value = formOf(file)
  }, [file])
  const change = (part: Partial<FileForm>) => {
    form.value = { ...form.value, ...part }
    if (patchOf(form.value, formOf(base.value)) === undefined) dropDraft(place)
    else keepDraft(place, { text: JSON.stringify(form.value), base: JSON.stringify(base.value) })
  }
  const take = (stored: FileRow) => {
    dropDraft(place)
    base.value = stored
    form.value = formOf(stored)
    conflict.value = undefined
    error.value = undefined
    onStored(stored)
  }
  const write = async (over: FileRow) => {
    const body = patchOf(form.value, formOf(over))
    if (body === undefined) return take(over)
    const path = filePath(db, bucket, file.name)
    try {
      take(await read<FileRow>('PATCH', path, { body, headers: { 'If-Match': `"${over.updatedAt}"` } }))
      announce('Saved')
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.status !== 412) throw thrown
      // The request for a file that is gone gets a 404, and the reader has to know that.
      conflict.value = await read<FileRow>('GET', `${path}?record=true`)
    }
  }
  const save = async (event?: Event) => {
    event?.preventDefault()
    if (isRunning.value || hasFault || patch === undefined) return
    isRunning.value = true
    error.value = undefined
    try {
      await write(base.value)
    } catch (thrown) {
      error.value = thrown
    }
    isRunning.value = false
  }
  const ttl = ttlOf(form.value.ttl)
  return (
    <form
      class="stack"
      onSubmit={save}
      onKeyDown={(event) => {
        if (event.key.toLowerCase() === 's' && (event.ctrlKey || event.metaKey)) save(event)
      }}
    >
      <div class="form-row">
        <Choice
          label="visibility"
          value={form.value.visibility}
          options={visibilities}
          onText={(visibility) => change({ visibility })}
        />
        <TextField
          label="contentType"
          value={form.value.contentType}
          onText={(contentType) => change({ contentType })}
        />
        <TextField
          label="ttl, when it expires"
          fault={faults.ttl}
          hint={typeof ttl === 'number' ? showInstant(ttl * 1000).utc : 'Empty: never'}
          placeholder="2027-01-31T12:00:00Z"
          value={form.value.ttl}
          onText={(ttl) => change({ ttl })}
        />
      </div>
      <TextField
        label="metadata"
        fault={faults.metadata}
        hint={`Valid JSON · ${recordBytes(form.value.metadata)} of ${fileMetadataBytesMax.toLocaleString('en')} bytes`}
        rows={Math.min(16, Math.max(4, form.value.metadata.split('\n').length + 1))}
        value={form.value.metadata}
        onText={(metadata) => change({ metadata })}
      />
      {error.value !== undefined && <ErrorBox error={error.value} />}
      <div class="actions">
        <button type="submit" class="filled" disabled={patch === undefined || hasFault || isRunning.value}>
          Save
        </button>
        <button type="button" onClick={() => change({ metadata: formatJson(form.value.metadata) })}>
          Format
        </button>
        {patch !== undefined && (
          <button type="button" class="quiet" onClick={() => take(file)}>
            Undo my changes
          </button>
        )}
      </div>
      {conflict.value !== undefined && (
        <Conflict
          what="file"
          mine={formText(form.value)}
          stored={formText(formOf(conflict.value))}
          onKeep={set(conflict, undefined)}
          onTake={() => take(conflict.value!)}
          save={() => write(conflict.value!)}
        />
      )}
    </form>
  )
}
