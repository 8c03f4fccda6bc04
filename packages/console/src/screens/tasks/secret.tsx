import { useSignal } from '@preact/signals'
import { read } from '../../api/request.ts'
import { into } from '../../ui/action.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Check, FormDialog } from '../../ui/form.tsx'
import { Address } from '../buckets/file-links.tsx'
import { taskPath } from './task-requests.ts'

/** A secret that the server shows this once. */
export const ShownSecret = ({ task, secret, onClose }: { task: string; secret: string; onClose: () => void }) => (
  <Dialog title={`Signing secret of ${task}`} onClose={onClose}>
    <div class="stack">
      <div class="message warn">
        <p>
          <strong>Copy it now:</strong> it is not shown again. Your server checks the signature of each push with it.
        </p>
      </div>
      <Address url={secret} label="the signing secret" />
      <div class="actions">
        <button type="button" onClick={onClose}>
          I have it
        </button>
      </div>
    </div>
  </Dialog>
)

export const NewSecret = ({ db, task, onClose }: { db: string; task: string; onClose: () => void }) => {
  const revokeOld = useSignal(false)
  const secret = useSignal<string | undefined>(undefined)
  if (secret.value !== undefined) return <ShownSecret task={task} secret={secret.value} onClose={onClose} />
  return (
    <FormDialog
      title={`New signing secret of ${task}`}
      action="Create a secret"
      onClose={onClose}
      ifUnknown="The secret may have been created all the same. Nobody can read it any more: create another."
      run={async () => {
        const body = JSON.stringify({ revokeOld: revokeOld.value })
        secret.value = (await read<{ secret: string }>('POST', `${taskPath(db, task)}/secret`, { body })).secret
      }}
    >
      <p>
        The new secret signs from now on. The one before also signs for 24 hours, so that you can change your server.
      </p>
      <Check
        label="Revoke the old ones at once"
        note="if one got into the wrong hands"
        isOn={revokeOld.value}
        onChange={into(revokeOld)}
      />
    </FormDialog>
  )
}
