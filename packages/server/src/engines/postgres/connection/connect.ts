import { StoreRefused } from '../../../core/store-refused.ts'
import { type Dialect, openingOf } from '../dialect.ts'
import { Session } from './driver.ts'
import { unavailable } from './failure.ts'
import type { StoreUrl } from './store-url.ts'

export const connectMsMax = 5_000

/** Opens a connection with the settings of all our sessions. */
export const connectSession = async (url: StoreUrl, dialect: Dialect): Promise<Session> => {
  const session = await Session.connect(url, connectMsMax)
  // A server that stops answering here must not occupy a place in the pool for ever.
  const timer = setTimeout(() => session.destroy(), connectMsMax)
  try {
    const [readOnly] = await session.run(openingOf(dialect))
    // A standby may answer with stale data.
    if (readOnly?.[0] !== 'off') throw new StoreRefused('the database takes no writes: it is a standby or read-only')
    return session
  } catch (error) {
    session.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Returns whether two sessions share connections to the server, as behind a pooler in transaction mode. One of them is asked
 * twice in a row: a pooler whose connections rotate gives it another one, and could hide that if the sessions took turns.
 */
export const shareConnections = async (one: Session, other: Session): Promise<boolean> => {
  const backendOf = async (session: Session) => (await session.run('select pg_backend_pid()'))[0]![0]
  const first = await backendOf(one)
  return (await backendOf(one)) !== first || (await backendOf(other)) === first
}

/** Opens a connection outside the pool, without its time limits. Whole stores are read through it. */
export const connectLongSession = async (url: StoreUrl, dialect: Dialect): Promise<Session> => {
  let session: Session
  try {
    session = await connectSession(url, dialect)
  } catch {
    throw unavailable('The database cannot be reached.')
  }
  await session.run('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
  return session
}
