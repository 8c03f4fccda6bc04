import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { ErrorBox } from './error-box.tsx'

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
  const error = useSignal<unknown>(undefined)
  const isRunning = useSignal(false)
  const inputId = useId()
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isRunning.value || (name !== undefined && typed.value !== name)) return
    isRunning.value = true
    error.value = undefined
    try {
      await run()
      onClose()
    } catch (thrown) {
      error.value = thrown
      isRunning.value = false
    }
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
        {error.value !== undefined && <ErrorBox error={error.value} />}
        <div class="actions">
          <button
            type="submit"
            class={isDangerous ? 'filled danger' : 'filled'}
            disabled={isRunning.value || (name !== undefined && typed.value !== name)}
          >
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
