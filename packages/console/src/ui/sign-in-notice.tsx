import { session, signInNotice } from '../state/session.ts'

const close = (): void => {
  signInNotice.value = undefined
}

export const SignInNotice = () =>
  signInNotice.value !== undefined && (
    <div class="message warn" role="status">
      <p>
        <strong>{signInNotice.value.label}:</strong> {signInNotice.value.text}{' '}
        {session.value !== undefined && (
          <button type="button" class="link" onClick={close}>
            Close
          </button>
        )}
      </p>
    </div>
  )
