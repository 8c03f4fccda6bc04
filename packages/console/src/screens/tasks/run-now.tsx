import { useSignal } from '@preact/signals'
import { curlOf } from '../../api/curl.ts'
import { keptMembers, send } from '../../api/request.ts'
import type { RunRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { readAnswer } from '../../text/answer.ts'
import { checkRecord } from '../../text/check.ts'
import { into } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Choice, FormDialog, TextField } from '../../ui/form.tsx'
import { useDialogDraft } from './dialog-draft.ts'
import { taskPath } from './task-requests.ts'

const namings = [
  ['', 'generated id'],
  ['id', 'id'],
  ['key', 'key'],
] as const

interface Props {
  db: string
  task: string
  onClose: () => void
  /** `isNew` is false if the id or key had a run already. */
  onAdded: (run: RunRow, isNew: boolean) => void
}

/** Adds a run. The payload is sent as it is typed. */
export const RunNow = ({ db, task, onClose, onAdded }: Props) => {
  const path = `${taskPath(db, task)}/run`
  const [kept, settle] = useDialogDraft(`${hrefOf({ screen: 'task', db, task })} run`, () =>
    payload.value === '{}' ? undefined : payload.value,
  )
  const payload = useSignal(kept ?? '{}')
  const naming = useSignal('')
  const name = useSignal('')
  const delay = useSignal('')
  const checked = checkRecord(payload.value)
  const fault = checked.ok ? undefined : checked.message
  const bodyNow = (): string => {
    const seconds = delay.value.trim()
    return `{${[
      `"payload":${payload.value}`,
      ...(naming.value === '' ? [] : [`"${naming.value}":${JSON.stringify(name.value)}`]),
      ...(seconds === '' ? [] : [`"delaySeconds":${/^\d+$/.test(seconds) ? seconds : JSON.stringify(seconds)}`]),
    ].join(',')}}`
  }
  const add = async () => {
    const answer = await send('POST', path, { body: bodyNow() })
    settle()
    onAdded(readAnswer<RunRow>(answer.text, keptMembers), answer.status === 201)
  }
  return (
    <FormDialog
      title={`Run ${task}`}
      action="Run"
      isWide
      isDisabled={fault !== undefined}
      ifUnknown="The run may have been added all the same: look for it in the list before you add it again."
      run={add}
      onClose={onClose}
      onCancel={() => {
        settle()
        onClose()
      }}
      more={<CopyButton label="Copy as curl" text={() => curlOf({ method: 'POST', path, body: bodyNow() })} />}
    >
      <TextField
        label="payload"
        fault={fault}
        hint="A JSON object. Workers get it exactly as it is typed."
        rows={8}
        value={payload.value}
        onText={into(payload)}
      />
      <div class="form-row">
        <Choice
          label="id or key"
          hint="An id makes the call repeatable; of a key at most one run is queued."
          value={naming.value}
          options={namings}
          onText={into(naming)}
        />
        {naming.value !== '' && <TextField label={naming.value} value={name.value} onText={into(name)} />}
        <TextField
          label="delaySeconds"
          hint="Empty: due now"
          inputMode="numeric"
          value={delay.value}
          onText={into(delay)}
        />
      </div>
    </FormDialog>
  )
}
