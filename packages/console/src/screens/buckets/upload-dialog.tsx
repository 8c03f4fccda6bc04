import { useSignal } from '@preact/signals'
import { fileNameFault } from '../../api/files.ts'
import { bytesOf } from '../../text/instant.ts'
import { into } from '../../ui/action.tsx'
import { Check, FormDialog, TextField } from '../../ui/form.tsx'
import { startUploads } from './uploads.ts'

interface Props {
  db: string
  bucket: string
  files: File[]
  /** The filter of the list: where the reader is. */
  prefix: string
  onClose: () => void
}

/** The names that are listed before the upload. */
const listedMax = 100

/** Asks where the files go and who may read them, before anything is sent. */
export const UploadDialog = ({ db, bucket, files, prefix, onClose }: Props) => {
  const folder = useSignal(prefix.slice(0, prefix.lastIndexOf('/') + 1))
  const isPublic = useSignal(false)
  const names = files.map((file) => folder.value + file.name)
  const bad = names.find(fileNameFault)
  return (
    <FormDialog
      title={files.length === 1 ? 'Upload a file' : `Upload ${files.length} files`}
      action="Upload"
      isDisabled={bad !== undefined}
      onClose={onClose}
      run={() => {
        const visibility = isPublic.value ? 'public' : 'private'
        startUploads(
          db,
          bucket,
          files.map((body, index) => ({ name: names[index]!, body, visibility })),
        )
        onClose()
      }}
    >
      <TextField
        label="Begin the names with"
        hint="Optional, for example reports/2026/. A name may have 16 parts."
        fault={bad && `${bad}: ${fileNameFault(bad)}`}
        value={folder.value}
        onText={into(folder)}
      />
      <ul class="upload-list mono">
        {files.slice(0, listedMax).map((file, index) => (
          <li key={index}>
            {names[index]} <span class="muted">{bytesOf(file.size)}</span>
          </li>
        ))}
        {files.length > listedMax && <li class="muted">and {files.length - listedMax} more</li>}
      </ul>
      <Check
        label="Public"
        note="everybody with the address can read them; otherwise only keys and signed links do"
        isOn={isPublic.value}
        onChange={into(isPublic)}
      />
    </FormDialog>
  )
}
