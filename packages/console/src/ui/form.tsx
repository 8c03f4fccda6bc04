import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { isUnknown } from '../api/error.ts'
import { Failure, useAction } from './action.tsx'
import { Dialog } from './dialog.tsx'

// Controls with their labels, and dialogs that send what they hold. Values are texts.

interface FieldProps {
  label: string
  hint?: ComponentChildren
  /** The fault of the value. */
  fault?: string
  children: (id: string, describedBy: string | undefined) => ComponentChildren
}

/** A label, its control, and below it a hint or what is wrong. */
export const Field = ({ label, hint, fault, children }: FieldProps) => {
  const id = useId()
  const noteId = `${id}-note`
  const note = fault ?? hint
  return (
    <div class={fault === undefined ? 'field' : 'field faulty'}>
      <label for={id}>{label}</label>
      {children(id, note === undefined ? undefined : noteId)}
      {note !== undefined && (
        <div id={noteId} class="field-note">
          {fault !== undefined && <strong>Error: </strong>}
          {note}
        </div>
      )}
    </div>
  )
}

interface TextFieldProps {
  label: string
  value: string
  onText: (text: string) => void
  hint?: ComponentChildren
  fault?: string
  placeholder?: string
  /** The field has more than one line. */
  rows?: number
  inputMode?: 'numeric'
}

export const TextField = ({ label, value, onText, hint, fault, rows, ...rest }: TextFieldProps) => (
  <Field label={label} hint={hint} fault={fault}>
    {(id, describedBy) => {
      const Control = rows === undefined ? 'input' : 'textarea'
      return (
        <Control
          {...rest}
          id={id}
          class="mono"
          rows={rows}
          autocomplete="off"
          spellcheck={false}
          aria-describedby={describedBy}
          aria-invalid={fault !== undefined}
          value={value}
          onInput={(event: Event) => onText((event.currentTarget as HTMLInputElement).value)}
        />
      )
    }}
  </Field>
)

interface ChoiceProps {
  label: string
  value: string
  onText: (text: string) => void
  hint?: string
  /** Each value with its words. */
  options: readonly (readonly [string, string])[]
}

export const Choice = ({ label, value, onText, hint, options }: ChoiceProps) => (
  <Field label={label} hint={hint}>
    {(id, describedBy) => (
      <select
        id={id}
        aria-describedby={describedBy}
        value={value}
        onChange={(event) => onText(event.currentTarget.value)}
      >
        {options.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    )}
  </Field>
)

interface CheckProps {
  label: string
  note?: string
  isOn: boolean
  isDisabled?: boolean
  onChange: (isOn: boolean) => void
}

export const Check = ({ label, note, isOn, isDisabled, onChange }: CheckProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={isOn}
      disabled={isDisabled}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
    <span>
      {label} {note !== undefined && <small>{note}</small>}
    </span>
  </label>
)

interface FormDialogProps {
  title: string
  /** The verb on the button. */
  action: string
  /** An error that it throws is shown above the buttons. */
  run: () => unknown
  /** Esc and the cross call it. */
  onClose: () => void
  /** The button calls it; `onClose` if absent. */
  onCancel?: () => void
  /** The words on that button. A question whose verb is "cancel" needs others than "Cancel". */
  cancel?: string
  isWide?: boolean
  isDisabled?: boolean
  isDangerous?: boolean
  /** The text that is shown if `run` may have had its effect without an answer. */
  ifUnknown?: string
  /** Buttons between the two. */
  more?: ComponentChildren
  children: ComponentChildren
}

export const FormDialog = ({
  title,
  action,
  run,
  onClose,
  onCancel = onClose,
  cancel = 'Cancel',
  isWide,
  isDisabled,
  isDangerous = false,
  ifUnknown,
  more,
  children,
}: FormDialogProps) => {
  const sending = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    if (!sending.isRunning && !isDisabled) sending.run(run)
  }
  return (
    <Dialog title={title} isWide={isWide} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {children}
        <Failure of={sending} />
        {ifUnknown !== undefined && isUnknown(sending.error) && (
          <div class="message warn">
            <p>{ifUnknown}</p>
          </div>
        )}
        <div class="actions">
          <button
            type="submit"
            class={isDangerous ? 'filled danger' : 'filled'}
            disabled={isDisabled || sending.isRunning}
          >
            {action}
          </button>
          {more}
          <button type="button" onClick={onCancel}>
            {cancel}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface ConfirmProps {
  title: string
  children: ComponentChildren
  /** The verb on the button. */
  action: string
  /** The reader types this name first, if it is given. */
  name?: string
  isDangerous?: boolean
  cancel?: string
  /** An error that it throws is shown. The dialog closes after it has ended. */
  run: () => unknown
  onClose: () => void
}

export const Confirm = ({ children, name, isDangerous = true, run, ...dialog }: ConfirmProps) => {
  const typed = useSignal('')
  const inputId = useId()
  const confirm = async () => {
    await run()
    dialog.onClose()
  }
  return (
    <FormDialog
      {...dialog}
      run={confirm}
      isDangerous={isDangerous}
      isDisabled={name !== undefined && typed.value !== name}
    >
      <div>{children}</div>
      {name !== undefined && (
        <div class="field">
          <label for={inputId}>
            Type <code>{name}</code> to go on
          </label>
          <input
            id={inputId}
            class="mono"
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={(event) => {
              typed.value = event.currentTarget.value
            }}
          />
        </div>
      )}
    </FormDialog>
  )
}
