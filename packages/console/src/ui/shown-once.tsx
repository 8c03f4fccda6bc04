import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { Time } from './time.tsx'

interface Props {
  title: string
  /** The name of what is copied, such as "the key". */
  what: string
  text: string
  why: string
  expiresAt: number | null
  onClose: () => void
}

/** A key or token in full, this once. Nothing else in the console shows it. */
export const ShownOnce = ({ title, what, text, why, expiresAt, onClose }: Props) => (
  <Dialog title={title} onClose={onClose}>
    <div class="stack">
      <div class="message warn">
        <p>
          <strong>Copy it now.</strong> {why}
        </p>
        {expiresAt !== null && (
          <p>
            It expires <Time ms={expiresAt} />.
          </p>
        )}
      </div>
      <code class="code wrap">{text}</code>
      <div class="actions">
        <CopyButton class="filled" label="Copy" what={what} text={() => text} />
        <button type="button" onClick={onClose}>
          Done
        </button>
      </div>
    </div>
  </Dialog>
)
