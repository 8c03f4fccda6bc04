import { useSignal } from '@preact/signals'
import { curlOf } from '../../api/curl.ts'
import { bucketPath } from '../../api/files.ts'
import { read } from '../../api/request.ts'
import type { FileRow } from '../../api/types.ts'
import { canWrite, session } from '../../state/session.ts'
import { showInstant } from '../../text/instant.ts'
import { Failure, into, useAction } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Check, Choice } from '../../ui/form.tsx'

/** The choices in seconds, with their words. */
const times = [
  ['900', '15 minutes'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '7 days'],
] as const

/** An address to copy. */
export const Address = ({ url, label }: { url: string; label: string }) => (
  <div class="address">
    <input class="mono" readOnly value={url} aria-label={label} onFocus={(event) => event.currentTarget.select()} />
    <CopyButton text={() => url} what={label} />
  </div>
)

interface Props {
  db: string
  bucket: string
  file: FileRow
}

export const FileLinks = ({ db, bucket, file }: Props) => {
  const seconds = useSignal('3600')
  const isDownload = useSignal(false)
  const made = useSignal<{ url: string; expiresAt: number } | undefined>(undefined)
  const making = useAction()
  const path = `${bucketPath(db, bucket)}/url`
  const bodyOf = () =>
    JSON.stringify({ name: file.name, expiresIn: Number(seconds.value), ...(isDownload.value && { download: true }) })
  const make = (event: Event) => {
    event.preventDefault()
    making.run(async () => {
      made.value = await read('POST', path, { body: bodyOf() })
    })
  }
  const keyEndsAt = session.value?.self.expiresAt
  return (
    <div class="stack">
      {file.url !== null && (
        <>
          <p>Everybody can read this file at its permanent URL.</p>
          <Address url={file.url} label="the permanent URL" />
        </>
      )}
      {canWrite.value && (
        <form class="stack" onSubmit={make}>
          <div class="actions bottom">
            <Choice label="A signed link works for" value={seconds.value} options={times} onText={into(seconds)} />
            <Check label="Browsers save it" isOn={isDownload.value} onChange={into(isDownload)} />
            <button type="submit">Create link</button>
            <CopyButton label="Copy as curl" text={() => curlOf({ method: 'POST', path, body: bodyOf() })} />
          </div>
          <Failure of={making} />
          {made.value !== undefined && (
            <>
              <Address url={made.value.url} label="the signed link" />
              <p class="muted">
                It works until {showInstant(made.value.expiresAt).utc}, or until the key of this session is revoked
                {session.value?.isOwn === true && ', which happens when you sign out'}.
              </p>
            </>
          )}
          {keyEndsAt !== null && keyEndsAt !== undefined && made.value === undefined && (
            <p class="muted">The key of this session ends at {showInstant(keyEndsAt).utc}, and its links with it.</p>
          )}
        </form>
      )}
    </div>
  )
}
