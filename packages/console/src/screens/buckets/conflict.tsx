import { diffLines } from '../../text/diff.ts'
import { formatJson } from '../../text/format.ts'
import { Failure, useAction } from '../../ui/action.tsx'
import { Dialog } from '../../ui/dialog.tsx'

interface Props {
  what: string
  /** Both versions as JSON text. */
  mine: string
  stored: string
  onKeep: () => void
  onTake: () => void
  /** An error that it throws is shown. */
  save: () => Promise<unknown>
}

/** Someone else has saved first: both versions side by side, and nothing is lost. */
export const Conflict = ({ what, mine, stored, onKeep, onTake, save }: Props) => {
  const saving = useAction()
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
              {diffLines(formatJson(mine), formatJson(stored)).map(({ left, right, same }, index) => (
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
        <Failure of={saving} />
        <div class="actions">
          <button type="button" class="filled" onClick={onKeep}>
            Keep editing
          </button>
          <button type="button" onClick={onTake}>
            Take the stored one
          </button>
          <button type="button" class="danger apart" onClick={() => saving.run(save)}>
            Save mine over it
          </button>
        </div>
      </div>
    </Dialog>
  )
}
