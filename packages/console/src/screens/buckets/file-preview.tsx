import { useSignal } from '@preact/signals'
import { filePath, readBytes } from '../../api/files.ts'
import type { FileRow } from '../../api/types.ts'
import { bytesOf } from '../../text/instant.ts'
import { set } from '../../ui/action.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Code, JsonView } from '../../ui/json-view.tsx'
import { Shown, useLoad } from '../../ui/load.tsx'
import { isPicture, mediaTypeOf, Picture } from './preview.tsx'

/** Larger files are shown when the reader asks. */
const pictureBytesMax = 5_000_000
const textBytesMax = 200_000

interface Props {
  db: string
  bucket: string
  file: FileRow
}

const isJson = (type: string): boolean => type === 'application/json' || type.endsWith('+json')

/** Shows the whole text as it is. */
const TextPreview = ({ db, bucket, file }: Props) => {
  const text = useLoad(
    async (signal) => (await readBytes(filePath(db, bucket, file.name), signal)).text(),
    [file.updatedAt],
  )
  const label = `Text of ${file.name}`
  return (
    <Shown of={text}>
      {(found) =>
        isJson(mediaTypeOf(file)) ? <JsonView text={found} label={label} /> : <Code label={label}>{found}</Code>
      }
    </Shown>
  )
}

export const FilePreview = ({ db, bucket, file }: Props) => {
  const isWanted = useSignal(false)
  const failure = useSignal<{ error?: unknown } | undefined>(undefined)
  const type = mediaTypeOf(file)
  if (file.size === 0) return <p class="muted">The file is empty.</p>
  if (isPicture(file)) {
    const error = failure.value?.error
    if (error !== undefined) {
      return <ErrorBox error={error} retry={set(failure, undefined)} />
    }
    if (failure.value) return <p class="muted">The bytes are not a picture that the browser can show.</p>
    if (file.size > pictureBytesMax && !isWanted.value) {
      return (
        <div>
          <button type="button" onClick={set(isWanted, true)}>
            Show the picture ({bytesOf(file.size)})
          </button>
        </div>
      )
    }
    return (
      <div class="file-picture">
        <Picture
          db={db}
          bucket={bucket}
          file={file}
          alt={file.name}
          onFail={(error) => {
            failure.value = { error }
          }}
        />
      </div>
    )
  }
  if (file.size <= textBytesMax && (isJson(type) || type.startsWith('text/'))) {
    return <TextPreview db={db} bucket={bucket} file={file} />
  }
  return <p class="muted">No preview of {type}. Download the file to open it.</p>
}
