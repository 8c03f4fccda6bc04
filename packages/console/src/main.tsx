import { render } from 'preact'
import { App } from './app.tsx'
import { startRouter } from './router.ts'
import { followSignInLink, isSignInLink, startSession } from './state/session.ts'

const root = document.getElementById('app')!
// First the session: the fragment may be a sign-in link, which no screen may see.
startSession().finally(() => {
  startRouter(isSignInLink, followSignInLink)
  render(<App />, root)
  performance.mark('usable')
})
