import { hrefOf } from '../../router.ts'
import { bytesOf } from '../../text/instant.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Section } from '../../ui/screen.tsx'
import { age } from '../../ui/time.tsx'
import { dropUploads, isActive, sendAgain, type Upload } from './uploads.ts'

const Progress = ({ upload: { name, state } }: { upload: Upload }) => {
  const now = state.value
  const percent = now.at === 'sending' ? Math.floor(now.part * 100) : 0
  return (
    <span class="upload-progress">
      <progress max={100} value={percent} aria-label={`Upload of ${name}`} />
      <span class="num">{now.at === 'waiting' ? 'waiting' : `${percent} %`}</span>
    </span>
  )
}

const Row = ({ upload }: { upload: Upload }) => {
  const { db, bucket, name, body } = upload
  const now = upload.state.value
  return (
    <li class="upload">
      <span class="mono upload-name">
        {now.at === 'done' ? <a href={hrefOf({ screen: 'file', db, bucket, name })}>{name}</a> : name}
      </span>
      <span class="muted num">{bytesOf(body.size)}</span>
      {isActive(upload) && (
        <>
          <Progress upload={upload} />
          <button type="button" class="link" aria-label={`Cancel ${name}`} onClick={() => dropUploads([upload])}>
            Cancel
          </button>
        </>
      )}
      {now.at === 'done' && <span class="tag ok">Done</span>}
      {now.at === 'exists' && (
        <span class="upload-question">
          <span>
            A file has this name: {bytesOf(now.stored.size)}, {now.stored.visibility}, {age(now.stored.updatedAt)}.
            Replace it? Its visibility, metadata and expiry stay.
          </span>
          <button type="button" aria-label={`Replace ${name}`} onClick={() => sendAgain(upload, now.stored)}>
            Replace
          </button>
          <button type="button" aria-label={`Skip ${name}`} onClick={() => dropUploads([upload])}>
            Skip
          </button>
        </span>
      )}
      {now.at === 'failed' && (
        <div class="upload-error">
          <ErrorBox error={now.error} retry={() => sendAgain(upload, upload.replaces)} />
        </div>
      )}
    </li>
  )
}

export const UploadsPanel = ({ list }: { list: Upload[] }) => {
  if (list.length === 0) return null
  const existing = list.filter(({ state }) => state.value.at === 'exists')
  const ended = list.filter((upload) => !isActive(upload))
  return (
    <Section
      title="Uploads"
      actions={
        <>
          {existing.length > 1 && (
            <button
              type="button"
              onClick={() => {
                for (const upload of existing) {
                  const now = upload.state.value
                  if (now.at === 'exists') sendAgain(upload, now.stored)
                }
              }}
            >
              Replace all {existing.length}
            </button>
          )}
          {ended.length > 0 && (
            <button type="button" class="quiet" onClick={() => dropUploads(ended)}>
              Clear
            </button>
          )}
        </>
      }
    >
      <ul class="uploads">
        {list.map((upload) => (
          <Row key={upload.id} upload={upload} />
        ))}
      </ul>
    </Section>
  )
}
