import { useSignal } from '@preact/signals'
import { diffLines } from '../../text/diff.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'

interface Props {
  what: string
  /** Both as JSON text. */
  mine: string
  stored: string
  onKeep: () => void
  onTake: () => void
  /** What it throws is shown. */
  save: () => Promise<unknown>
}

/** Someone else has saved first: both versions side by side, and nothing is lost. */
export const Conflict = ({ what, mine, stored, onKeep, onTake, save }: Props) => {
  const error = useSignal<unknown>(undefined)
  return (
    <Dialog title={`The ${what} was changed meanwhile`} isWide onClose={onKeep}>
      <div class="stack">
        <div class="scroll-x versions">
          <table>
            <thead>
              <tr>
                <th scope="col">Yours</th>
                <th scope="col">Stored now</th>
              </tr>
            </thead>
            <tbody>
              {diffLines(mine, stored).map(({ left, right, same }, index) => (
                <tr key={index} class={same ? '' : 'differs'}>
                  {[left, right].map((line, side) => (
                    <td key={side}>
                      {same ? '  ' : line === undefined ? '' : '≠ '}
                      {line}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {error.value !== undefined && <ErrorBox error={error.value} />}
        <div class="actions">
          <button type="button" class="filled" onClick={onKeep}>
            Keep editing
          </button>
          <button type="button" onClick={onTake}>
            Take the stored one
          </button>
          <button
            type="button"
            class="danger"
            onClick={async () => {
              error.value = undefined
              try {
                await save()
              } catch (thrown) {
                error.value = thrown
              }
            }}
          >
            Save mine over it
          </button>
        </div>
      </div>
    </Dialog>
  )
}
