import type { Signal } from '@preact/signals'
import type { FileRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { canWrite } from '../../state/session.ts'
import { bytesOf } from '../../text/instant.ts'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { folderHref, inFolder } from './folders.ts'
import { Thumbnail } from './preview.tsx'

export const VisibilityTag = ({ of }: { of: FileRow['visibility'] }) => (
  <span class={of === 'public' ? 'tag warn' : 'tag'}>{of}</span>
)

interface Props {
  db: string
  bucket: string
  /** The folder that the reader is in: names are shown without it. */
  folder: string
  folders: readonly string[]
  files: readonly FileRow[]
  /** The names of the chosen files. */
  selected: Signal<ReadonlySet<string>>
  /** The files that were just uploaded mark themselves. */
  changed: ReadonlySet<string>
}

export const FilesTable = ({ db, bucket, folder, folders, files, selected, changed }: Props) => {
  const toggle = (name: string, isOn: boolean) => {
    const names = new Set(selected.value)
    if (isOn) names.add(name)
    else names.delete(name)
    selected.value = names
  }
  const all = (
    <input
      type="checkbox"
      aria-label="Select all shown files"
      checked={files.length > 0 && files.every(({ name }) => selected.value.has(name))}
      onChange={({ currentTarget: { checked } }) => {
        selected.value = new Set(checked ? files.map(({ name }) => name) : [])
      }}
    />
  )
  return (
    <List
      class="files"
      heads={[
        ...(canWrite.value ? [{ head: all, class: 'tick' }] : []),
        'name',
        { head: 'size', class: 'num' },
        { head: 'contentType', class: 'from-medium' },
        'visibility',
        { head: 'updatedAt', class: 'from-small' },
      ]}
    >
      {folders.map((name) => (
        <tr key={name}>
          {canWrite.value && <td class="tick" />}
          <th scope="row">
            <a class="mono" href={folderHref(db, bucket, name)}>
              {inFolder(name, folder)}
            </a>
          </th>
          <td class="muted num">folder</td>
          <td class="from-medium" />
          <td />
          <td class="from-small" />
        </tr>
      ))}
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
                {inFolder(file.name, folder)}
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
    </List>
  )
}
