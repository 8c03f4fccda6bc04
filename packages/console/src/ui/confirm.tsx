import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Failure, useAction } from './action.tsx'
import { Dialog } from './dialog.tsx'

interface Props {
  title: string
  children: ComponentChildren
  /** The verb on the button. */
  action: string
  /** If given, the reader types it first. */
  name?: string
  isDangerous?: boolean
  /** What it throws is shown; after it has ended the dialog closes. */
  run: () => unknown
  onClose: () => void
}

export const Confirm = ({ title, children, action, name, isDangerous = true, run, onClose }: Props) => {
  const typed = useSignal('')
  const confirmed = useAction()
  const inputId = useId()
  const isBlocked = () => confirmed.isRunning || (name !== undefined && typed.value !== name)
  const submit = (event: Event) => {
    event.preventDefault()
    if (isBlocked()) return
    confirmed.run(async () => {
      await run()
      onClose()
    })
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
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
        <Failure of={confirmed} />
        <div class="actions">
          <button type="submit" class={isDangerous ? 'filled danger' : 'filled'} disabled={isBlocked()}>
            {action}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
