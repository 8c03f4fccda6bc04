import type { Signal } from '@preact/signals'
import type { FileRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { canWrite } from '../../state/session.ts'
import { bytesOf } from '../../text/instant.ts'
import { Time } from '../../ui/time.tsx'
import { Thumbnail } from './preview.tsx'

export const VisibilityTag = ({ of }: { of: FileRow['visibility'] }) => (
  <span class={of === 'public' ? 'tag warn' : 'tag'}>{of}</span>
)

interface Props {
  db: string
  bucket: string
  files: readonly FileRow[]
  /** Names. */
  selected: Signal<ReadonlySet<string>>
  /** Just uploaded: they mark themselves. */
  changed: ReadonlySet<string>
}

export const FilesTable = ({ db, bucket, files, selected, changed }: Props) => {
  const toggle = (name: string, isOn: boolean) => {
    const names = new Set(selected.value)
    if (isOn) names.add(name)
    else names.delete(name)
    selected.value = names
  }
  return (
    <div class="scroll-x">
      <table class="list files">
        <thead>
          <tr>
            {canWrite.value && (
              <th scope="col" class="tick">
                <input
                  type="checkbox"
                  aria-label="Select all shown files"
                  checked={files.length > 0 && files.every(({ name }) => selected.value.has(name))}
                  onChange={({ currentTarget: { checked } }) => {
                    selected.value = new Set(checked ? files.map(({ name }) => name) : [])
                  }}
                />
              </th>
            )}
            <th scope="col">name</th>
            <th scope="col" class="num">
              size
            </th>
            <th scope="col" class="from-medium">
              contentType
            </th>
            <th scope="col">visibility</th>
            <th scope="col" class="from-small">
              updatedAt
            </th>
          </tr>
        </thead>
        <tbody>
          {files.map((file) => (
            <tr
              key={file.name}
              class={[changed.has(file.name) && 'changed', selected.value.has(file.name) && 'selected']
                .filter(Boolean)
                .join(' ')}
            >
              {canWrite.value && (
                <td class="tick">
                  <input
                    type="checkbox"
                    aria-label={`Select ${file.name}`}
                    checked={selected.value.has(file.name)}
                    onChange={({ currentTarget: { checked } }) => toggle(file.name, checked)}
                  />
                </td>
              )}
              <th scope="row">
                <span class="file-name">
                  <Thumbnail db={db} bucket={bucket} file={file} />
                  <a class="mono" href={hrefOf({ screen: 'file', db, bucket, name: file.name })}>
                    {file.name}
                  </a>
                </span>
              </th>
              <td class="num nowrap">{bytesOf(file.size)}</td>
              <td class="muted from-medium">{file.contentType}</td>
              <td>
                <VisibilityTag of={file.visibility} />
              </td>
              <td class="nowrap from-small">
                <Time ms={file.updatedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
