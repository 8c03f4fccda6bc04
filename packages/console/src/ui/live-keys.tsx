import { canManageKeys, type LiveKey, revokeLiveKey, shownLiveKeys } from '../state/session.ts'
import { Time } from './time.tsx'

const LiveKeyMessage = ({ of: live }: { of: LiveKey }) => {
  const { masked, expiresAt } = live.self
  return (
    <div class="message warn" role="status">
      <p>
        <strong>A key still works:</strong> {live.what}, <code>{masked}</code>, could not be revoked.{' '}
        {live.error.message}{' '}
        {expiresAt !== null && (
          <>
            It expires <Time ms={expiresAt} />.{' '}
          </>
        )}
        {canManageKeys.value ? (
          <button type="button" class="link" onClick={() => revokeLiveKey(live)}>
            Revoke it now
          </button>
        ) : (
          'Sign in to revoke it under Keys.'
        )}
      </p>
    </div>
  )
}

/** Keys that the console could not revoke, so that none is left that nobody knows of. */
export const LiveKeys = () => shownLiveKeys.value.map((live) => <LiveKeyMessage key={live.self.id} of={live} />)
