import { useSignal } from '@preact/signals'
import { curlOf } from '../../api/curl.ts'
import { ApiError } from '../../api/error.ts'
import type { TaskRow } from '../../api/types.ts'
import { hrefOf } from '../../router.ts'
import { checkJson } from '../../text/check.ts'
import { nameFault } from '../../text/names.ts'
import { set } from '../../ui/action.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { FormDialog, TextField } from '../../ui/form.tsx'
import { Conflict } from '../buckets/conflict.tsx'
import { type DeclarationForm, declarationOf, emptyForm, formOf, formOfText, payloadFault } from './declaration.ts'
import { DeclarationFields } from './declaration-fields.tsx'
import { useDialogDraft } from './dialog-draft.ts'
import { ShownSecret } from './secret.tsx'
import { putDeclaration, readTask, taskPath } from './task-requests.ts'

interface Props {
  db: string
  /** The task is undefined for a new one. */
  present?: TaskRow
  onClose: () => void
  onDeclared: (task: TaskRow) => void
}

/** Declares a task, or replaces the declaration that was read. As a form, or as the JSON of the request. */
export const Declare = ({ db, present, onClose, onDeclared }: Props) => {
  const begun = present ? formOf(present) : emptyForm
  const [kept, settle] = useDialogDraft(`${hrefOf({ screen: 'tasks', db })} ${present?.task ?? ''}`, () => {
    const isSame = name.value === (present?.task ?? '') && bodyNow() === declarationOf(begun)
    return isSame ? undefined : JSON.stringify([name.value, bodyNow(), base.value?.updatedAt])
  })
  const [keptName, keptBody, keptVersion]: [string?, string?, number?] = kept === undefined ? [] : JSON.parse(kept)
  const found = keptBody === undefined ? { form: begun } : formOfText(keptBody)
  // A draft replaces only the version that it began from.
  const base = useSignal(present && { ...present, updatedAt: keptVersion ?? present.updatedAt })
  const name = useSignal(keptName ?? present?.task ?? '')
  const form = useSignal<DeclarationForm>('form' in found ? found.form : begun)
  /** The JSON text is undefined while the form is shown. */
  const text = useSignal<string | undefined>('fault' in found ? keptBody : undefined)
  const fault = useSignal<string | undefined>(undefined)
  const nameIsBad = useSignal<string | undefined>(undefined)
  const conflict = useSignal<TaskRow | undefined>(undefined)
  const declared = useSignal<(TaskRow & { secret?: string }) | undefined>(undefined)

  const bodyNow = (): string => text.value ?? declarationOf(form.value)
  const done = (task: TaskRow & { secret?: string }) => {
    settle()
    if (task.secret === undefined) return onDeclared(task)
    declared.value = task
  }
  const put = async (over: TaskRow | undefined) => {
    const headers: Record<string, string> =
      over === undefined ? { 'If-None-Match': '*' } : { 'If-Match': `"${over.updatedAt}"` }
    try {
      done(await putDeclaration(db, name.value, bodyNow(), headers))
    } catch (thrown) {
      if (over === undefined || !(thrown instanceof ApiError) || thrown.status !== 412) throw thrown
      conflict.value = await readTask(db, name.value)
    }
  }
  const submit = async () => {
    nameIsBad.value = present ? undefined : nameFault(name.value)
    const checked = text.value === undefined ? undefined : checkJson(text.value)
    fault.value = checked?.ok === false ? checked.message : undefined
    if (nameIsBad.value ?? fault.value ?? (text.value === undefined ? payloadFault(form.value) : undefined)) return
    await put(base.value)
  }
  const toggle = () => {
    fault.value = undefined
    if (text.value === undefined) {
      text.value = declarationOf(form.value)
      return
    }
    const found = formOfText(text.value)
    if ('fault' in found) fault.value = found.fault
    else {
      form.value = found.form
      text.value = undefined
    }
  }
  const finished = declared.value
  if (finished?.secret !== undefined) {
    return <ShownSecret task={finished.task} secret={finished.secret} onClose={() => onDeclared(finished)} />
  }
  const stored = conflict.value
  if (stored !== undefined) {
    return (
      <Conflict
        what="declaration"
        mine={bodyNow()}
        stored={declarationOf(formOf(stored))}
        onKeep={set(conflict, undefined)}
        onTake={() => {
          base.value = stored
          form.value = formOf(stored)
          text.value = undefined
          conflict.value = undefined
        }}
        save={async () => {
          await put(stored)
        }}
      />
    )
  }
  return (
    <FormDialog
      title={present ? `Declaration of ${present.task}` : 'Declare a task'}
      action={present ? 'Save' : 'Declare'}
      isWide
      run={submit}
      onClose={onClose}
      onCancel={() => {
        settle()
        onClose()
      }}
      more={
        <>
          <button type="button" onClick={toggle}>
            {text.value === undefined ? 'As JSON' : 'As a form'}
          </button>
          <CopyButton
            label="Copy as curl"
            text={() => curlOf({ method: 'PUT', path: taskPath(db, name.value), body: bodyNow() })}
          />
        </>
      }
    >
      {present === undefined && (
        <TextField
          label="Name"
          fault={nameIsBad.value}
          hint="1 to 64 lower-case letters, digits, _ or -"
          value={name.value}
          onText={(typed) => {
            name.value = typed
            nameIsBad.value = undefined
          }}
        />
      )}
      {text.value === undefined ? (
        <DeclarationFields form={form} />
      ) : (
        <TextField
          label="Declaration as JSON"
          fault={fault.value}
          hint="Fields that you leave out have their defaults."
          rows={14}
          value={text.value}
          onText={(typed) => {
            text.value = typed
            fault.value = undefined
          }}
        />
      )}
    </FormDialog>
  )
}
