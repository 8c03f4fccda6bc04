import { useEffect } from 'preact/hooks'
import { ApiError, messageOf } from '../api/error.ts'
import { route } from '../router.ts'
import { overlay } from '../state/overlay.ts'
import { canWrite } from '../state/session.ts'
import { set } from './action.tsx'
import { alarm } from './announce.ts'
import { CopyButton } from './copy-button.tsx'

interface Props {
  error: unknown
  /** The action of the button "Try again". */
  retry?: () => unknown
}

const factsOf = (error: unknown): string =>
  error instanceof ApiError
    ? [error.code, error.field, error.requestId].filter((fact) => fact !== undefined).join(' · ')
    : ''

/** The button on the screen of a table that does not exist. */
const CreateMissing = ({ error }: { error: unknown }) => {
  const at = route.value
  if (!(error instanceof ApiError) || error.code !== 'table_not_found') return null
  if (!canWrite.value || !('table' in at) || at.table === undefined) return null
  return (
    <p>
      <button type="button" onClick={set(overlay, { kind: 'createTable', db: at.db, table: at.table })}>
        Create the table {at.table}
      </button>
    </p>
  )
}

/** The API's own message, its hint, then code and request id, in the place where the action was. */
export const ErrorBox = ({ error, retry }: Props) => {
  const message = messageOf(error)
  const hint = error instanceof ApiError ? error.hint : undefined
  const facts = factsOf(error)
  useEffect(() => alarm(message), [error])
  return (
    <div class="message danger">
      <p>
        <strong>Error:</strong> {message}
      </p>
      {hint !== undefined && <p>{hint}</p>}
      <CreateMissing error={error} />
      <p class="message-facts">
        {facts !== '' && <code>{facts}</code>}
        <CopyButton
          class="link"
          what="this error"
          text={() => [message, hint, facts].filter((part) => part !== undefined && part !== '').join('\n')}
        />
        {retry && (
          <button type="button" class="link" onClick={retry}>
            Try again
          </button>
        )}
      </p>
    </div>
  )
}
