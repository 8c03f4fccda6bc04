import { useSignal } from '@preact/signals'
import { isUnknown, messageOf } from '../../api/error.ts'
import { filePath } from '../../api/files.ts'
import { send } from '../../api/request.ts'
import type { FileRow } from '../../api/types.ts'
import { bytesOf } from '../../text/instant.ts'
import { announce } from '../../ui/announce.ts'
import { Dialog } from '../../ui/dialog.tsx'

const atOnceMax = 4

interface Props {
  db: string
  bucket: string
  files: FileRow[]
  /** `hasRun`: files may be gone, also those whose removal got no answer. */
  onClose: (hasRun: boolean) => void
}

/** Removes each file only in the version that the reader has seen. */
export const RemoveFiles = ({ db, bucket, files, onClose }: Props) => {
  const removed = useSignal<ReadonlySet<string>>(new Set())
  const failures = useSignal<{ name: string; error: unknown }[]>([])
  const isRunning = useSignal(false)
  const isStopped = useSignal(false)
  const remove = async ({ name, updatedAt }: FileRow) => {
    try {
      await send('DELETE', filePath(db, bucket, name), { headers: { 'If-Match': `"${updatedAt}"` } })
      removed.value = new Set(removed.value).add(name)
    } catch (error) {
      failures.value = [...failures.value, { name, error }]
    }
  }
  const run = async (event: Event) => {
    event.preventDefault()
    if (isRunning.value) return
    isRunning.value = true
    const left = [...files]
    const work = async () => {
      for (let file = left.shift(); file !== undefined && !isStopped.value; file = left.shift()) await remove(file)
    }
    await Promise.all(Array.from({ length: atOnceMax }, work))
    announce(`${removed.value.size} of ${files.length} files are removed.`)
    if (failures.value.length === 0) onClose(isRunning.value)
  }
  const close = () => {
    isStopped.value = true
    onClose(isRunning.value)
  }
  const count = files.length === 1 ? '1 file' : `${files.length} files`
  const isDone = removed.value.size + failures.value.length === files.length
  return (
    <Dialog title={`Remove ${count}?`} onClose={close}>
      <form class="stack" onSubmit={run}>
        <p>
          {bytesOf(files.reduce((sum, { size }) => sum + size, 0))} in {count}. Their URLs stop working. This cannot be
          undone.
        </p>
        {isRunning.value && (
          <progress max={files.length} value={removed.value.size + failures.value.length} aria-label="Removed files" />
        )}
        {failures.value.length > 0 && (
          <div class="message danger">
            <p>
              <strong>{failures.value.some(({ error }) => isUnknown(error)) ? 'Not confirmed' : 'Not removed'}:</strong>{' '}
              {failures.value.length} of {count}
            </p>
            <ul class="upload-list">
              {failures.value.map(({ name, error }) => (
                <li key={name}>
                  <code>{name}</code>: {messageOf(error)}
                  {isUnknown(error) && ' It may be removed all the same.'}
                </li>
              ))}
            </ul>
          </div>
        )}
        <div class="actions">
          {!isDone && (
            <button type="submit" class="filled danger" disabled={isRunning.value}>
              Remove {count}
            </button>
          )}
          <button type="button" onClick={close}>
            {isDone ? 'Close' : isRunning.value ? 'Stop' : 'Cancel'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
