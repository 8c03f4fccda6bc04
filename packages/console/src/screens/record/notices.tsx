import { ErrorBox } from '../../ui/error-box.tsx'
import type { Editing, Wanted } from './editing.ts'

interface Props {
  editing: Editing
  onDiscard: () => void
  onReadAgain: (wanted: Wanted) => void
}

/** A draft from before, and what came of the last request. */
export const Notices = ({ editing, onDiscard, onReadAgain }: Props) => {
  const trouble = editing.trouble.value
  return (
    <>
      {editing.hasOldDraft.value && (
        <div class="message warn">
          <p>
            <strong>Your unsaved text from before.</strong>{' '}
            {editing.isStale.value && 'The record has changed since then: before anything is replaced you see both. '}
            <button type="button" class="link" onClick={onDiscard}>
              Discard it
            </button>
          </p>
        </div>
      )}
      {trouble?.kind === 'error' && <ErrorBox error={trouble.error} />}
      {trouble?.kind === 'unknown' && (
        <>
          <ErrorBox error={trouble.error} />
          <div class="message warn">
            <p>
              <strong>It may have been {trouble.wanted === 'save' ? 'saved' : 'deleted'} all the same.</strong> What you
              typed is kept.{' '}
              <button type="button" class="link" onClick={() => onReadAgain(trouble.wanted)}>
                Read the record again
              </button>
            </p>
          </div>
        </>
      )}
      {trouble?.kind === 'unchanged' && (
        <div class="message warn" role="status">
          <p>
            <strong>Not {trouble.wanted === 'save' ? 'saved' : 'deleted'}.</strong> The stored record is as it was
            before. Try again.
          </p>
        </div>
      )}
    </>
  )
}
