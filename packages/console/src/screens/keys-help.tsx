import { Dialog } from '../ui/dialog.tsx'
import { Heads } from '../ui/list.tsx'

const keys: readonly (readonly [string[], string])[] = [
  [['Ctrl K', '⌘ K'], 'jump to a table, bucket, task or page'],
  [['/'], 'to the query bar, or to the filter where there is none'],
  [['?'], 'this list'],
  [['Enter'], 'runs the query; in the grid it opens the record'],
  [['↑', '↓', '←', '→'], 'move in the grid; with Shift they select'],
  [['Alt ↓'], 'what to do with the value of a cell'],
  [['Shift ←', 'Shift →'], 'on a head: change the width of the column; Enter sorts what is loaded'],
  [['Space'], 'selects a row'],
  [['Ctrl S', '⌘ S'], 'saves the record'],
  [['Esc'], 'closes a dialog or the record'],
]

/** The keys that work, on `?`. */
export const KeysHelp = ({ onClose }: { onClose: () => void }) => (
  <Dialog title="Keys of the keyboard" onClose={onClose}>
    <table class="list">
      <Heads of={['key', 'what it does']} />
      <tbody>
        {keys.map(([names, what]) => (
          <tr key={what}>
            <td class="nowrap">
              {names.map((name) => (
                <span key={name}>
                  <kbd>{name}</kbd>{' '}
                </span>
              ))}
            </td>
            <td>{what}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Dialog>
)
