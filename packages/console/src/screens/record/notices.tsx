import { ErrorBox } from '../../ui/error-box.tsx'
import { Time } from '../../ui/time.tsx'
import { nameText } from '../table/rows.ts'
import type { Editing, Wanted } from './editing.ts'

interface Props {
  editing: Editing
  onDiscard: () => void
  onReadAgain: (wanted: Wanted) => void
}

const namedMax = 12

const Names = ({ of }: { of: readonly string[] }) => (
  <>
    {of.slice(0, namedMax).map((name, i) => (
      <span key={name}>
        {i > 0 && ', '}
        <code>{nameText(name)}</code>
      </span>
    ))}
    {of.length > namedMax && ` and ${of.length - namedMax} more`}
  </>
)

/** Tells mine from theirs after a conflict, until the next save. */
const MergedNotice = ({ editing }: { editing: Editing }) => {
  const merged = editing.merged.value
  const { version } = editing.base.value
  if (merged === undefined) return null
  return (
    <div class="message warn" role="status">
      {version === undefined ? (
        <p>
          <strong>The record does not exist any more.</strong> Saving creates it with your text.
        </p>
      ) : (
        <p>
          <strong>You go on from the newer version,</strong> written <Time ms={version} />. Saving replaces it.
        </p>
      )}
      {merged.taken.length > 0 && (
        <p>
          Taken from it: <Names of={merged.taken} />.
        </p>
      )}
      {merged.kept.length > 0 && (
        <p>
          Yours: <Names of={merged.kept} />.
        </p>
      )}
    </div>
  )
}

/** A draft from before, and what came of the last request. */
export const Notices = ({ editing, onDiscard, onReadAgain }: Props) => {
  const trouble = editing.trouble.value
  return (
    <>
      <MergedNotice editing={editing} />
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
