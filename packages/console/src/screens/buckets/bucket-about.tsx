import { useSignal } from '@preact/signals'
import { bucketPath } from '../../api/files.ts'
import { baseUrl, read } from '../../api/request.ts'
import type { BucketMetadata } from '../../api/types.ts'
import { canWrite } from '../../state/session.ts'
import { showInstant } from '../../text/instant.ts'
import { set } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { deleteWithUndo } from '../../ui/deleted.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Confirm } from '../../ui/form.tsx'
import { Shown, useLoad } from '../../ui/load.tsx'

interface Props {
  db: string
  bucket: string
  onClose: () => void
}

/** The facts of the bucket, and its deletion. */
export const BucketAbout = ({ db, bucket, onClose }: Props) => {
  const path = bucketPath(db, bucket)
  const isDeleting = useSignal(false)
  const found = useLoad((signal) => read<BucketMetadata>('GET', path, { signal }), [])
  const remove = () => deleteWithUndo(bucket, path, { screen: 'buckets', db }, { screen: 'bucket', db, bucket })
  if (isDeleting.value) {
    return (
      <Confirm title={`Delete ${bucket}?`} action="Delete the bucket" name={bucket} run={remove} onClose={onClose}>
        <p>The URLs of its files stop working at once. You can restore the bucket with its files for 7 days.</p>
      </Confirm>
    )
  }
  return (
    <Dialog title={`About ${bucket}`} onClose={onClose}>
      <div class="stack">
        <Shown of={found} rows={3}>
          {({ id, createdAt }) => (
            <dl class="facts">
              <dt>id</dt>
              <dd class="mono">
                {id} <CopyButton class="link" what="the id" text={() => id} />
              </dd>
              <dt>created</dt>
              <dd>{showInstant(createdAt).utc}</dd>
              <dt>URLs</dt>
              <dd class="mono">
                {baseUrl}/files/{id}/…
              </dd>
            </dl>
          )}
        </Shown>
        {canWrite.value && (
          <div class="actions">
            <button type="button" class="danger" onClick={set(isDeleting, true)}>
              Delete the bucket
            </button>
          </div>
        )}
      </div>
    </Dialog>
  )
}
