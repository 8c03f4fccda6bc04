import { computed, signal } from '@preact/signals'
import { serverNowMs } from '../api/clock.ts'
import { type ApiError, errorOf } from '../api/error.ts'
import { connection, exchange } from '../api/request.ts'
import type { CreateKeyResponse, OwnKey } from '../api/types.ts'
import { shellCommand } from '../text/shell-command.ts'

// The session. Its key is in memory, and in sessionStorage only if the reader asked to keep it in this tab, or a link led to it.

const storageName = 'cubby.key'
const sessionHours = 12

interface Session {
  self: OwnKey
  /** The console created the key, and revokes it on sign-out. */
  isOwn: boolean
}

export const session = signal<Session | undefined>(undefined)
/** The reason why the reader has to sign in, or to sign in again, or why a link changed nothing. */
export const signInNotice = signal<
  { label: 'Signed out' | 'Not signed in' | 'Still signed in'; text: string } | undefined
>(undefined)

interface SignInLink {
  key: string
  self: OwnKey
}

/** A sign-in link that would replace the session: the app asks, then calls `replaceSession` or `dropLink`. */
export const waitingLink = signal<SignInLink | undefined>(undefined)

export const dropLink = (): void => {
  waitingLink.value = undefined
}
export const isKept = signal(false)

export const canCreateKeys = ({ kind, databases }: OwnKey): boolean => kind === 'secret' && databases === null

/** A key that the console was to revoke and could not: it works until it expires. */
export interface LiveKey {
  what: string
  self: OwnKey
  error: ApiError
}

const liveKeys = signal<readonly LiveKey[]>([])

export const canWrite = computed(() => session.value?.self.kind === 'secret')
export const canManageKeys = computed(() => session.value !== undefined && canCreateKeys(session.value.self))

const store = (): Storage | undefined => {
  try {
    return sessionStorage
  } catch {
    return undefined
  }
}

const call = async <T>(method: string, path: string, key: string, body?: object): Promise<T> => {
  const text = body && JSON.stringify(body)
  const answer = await exchange(method, path, { body: text }, key)
  if (answer.status >= 400) throw errorOf(answer.status, answer.text, answer.headers.get('x-request-id'))
  return JSON.parse(answer.text) as T
}

/** Asks the server for the kind and the rights of the key. */
export const describeKey = (key: string): Promise<OwnKey> => call<OwnKey>('GET', '/api/keys/self', key)

const forget = (): void => {
  connection.key = undefined
  session.value = undefined
  dropLink()
  isKept.value = false
  store()?.removeItem(storageName)
}

const begin = (key: string, self: OwnKey, isOwn: boolean): void => {
  connection.key = key
  signInNotice.value = undefined
  session.value = { self, isOwn }
}

/** Keeps the key in the tab's storage until the tab is closed or the reader signs out. */
export const keepInTab = (keep: boolean): void => {
  isKept.value = keep
  const { key } = connection
  if (keep && key !== undefined) {
    store()?.setItem(storageName, JSON.stringify({ key, isOwn: session.value?.isOwn === true }))
  } else store()?.removeItem(storageName)
}

const createOwnKey = async (key: string, given: OwnKey): Promise<{ key: string; self: OwnKey }> => {
  const { link: _, ...others } = given
  const { key: own, ...metadata } = await call<CreateKeyResponse>('POST', '/api/keys', key, {
    kind: 'secret',
    name: 'console, 12 hours',
    expiresAt: serverNowMs() + sessionHours * 3_600_000,
  })
  return { key: own, self: { ...others, ...metadata } }
}

/** Called when the key is revoked, wherever that was done. */
export const forgetLiveKey = (id: string): void => {
  liveKeys.value = liveKeys.value.filter(({ self }) => self.id !== id)
}

const tryToRevoke = async (what: string, self: OwnKey, key: string): Promise<void> => {
  let failure: ApiError | undefined
  try {
    await call('DELETE', `/api/keys/${encodeURIComponent(self.id)}`, key)
  } catch (error) {
    failure = error as ApiError
  }
  forgetLiveKey(self.id)
  if (failure !== undefined) liveKeys.value = [...liveKeys.value, { what, self, error: failure }]
}

/** Tries again, with the key of the session. */
export const revokeLiveKey = async ({ what, self }: LiveKey): Promise<void> => {
  if (connection.key !== undefined) await tryToRevoke(what, self, connection.key)
}

/** The keys of the organization that is signed in, or of all organizations while nobody is. */
export const shownLiveKeys = computed(() =>
  liveKeys.value.filter(({ self }) => self.organization === (session.value?.self.organization ?? self.organization)),
)

export const noHoursReason = 'a key that is limited to databases cannot create another key'

interface SignInOptions {
  keep?: boolean
  forHours?: boolean
}

export const signIn = async (key: string, { keep = false, forHours = false }: SignInOptions = {}): Promise<void> => {
  const given = await describeKey(key)
  if (forHours && !canCreateKeys(given)) throw new Error(`Not for 12 hours: ${noHoursReason}`)
  if (!forHours) begin(key, given, false)
  else {
    const own = await createOwnKey(key, given)
    begin(own.key, own.self, true)
  }
  keepInTab(keep)
}

/** Signs in by the key of a sign-in link, in the tab that shows the wanted address. */
export const signInByLink = async (key: string): Promise<void> => {
  const fault = await tryLink(key)
  if (fault !== undefined) throw new Error(`${fault}.`)
}

export const signOut = async (): Promise<void> => {
  const revokeOwn = leaveSession()
  signInNotice.value = undefined
  await revokeOwn()
}

/** Returns what revokes the keys of the session, if the console created them. */
const leaveSession = (): (() => Promise<void>) => {
  const { key } = connection
  const ended = session.value
  const others = shownLiveKeys.value
  forget()
  return async () => {
    if (key === undefined || ended?.isOwn !== true) return
    // The key of the session last, because it revokes the others.
    for (const { what, self } of others) await tryToRevoke(what, self, key)
    await tryToRevoke('the 12-hour key', ended.self, key)
    // The key was dead before.
    if (liveKeys.value.at(-1)?.error.status === 401) forgetLiveKey(ended.self.id)
  }
}

/**
 * The browser keeps the fragment in its history whatever the page does, so the key in it is made useless. If that fails, the
 * reader is signed in all the same: only with the new key in hand can the one of the link be revoked, and the new one on
 * sign-out.
 */
const exchangeLink = async ({ key, self }: SignInLink): Promise<SignInLink> => {
  const own = await createOwnKey(key, self)
  await tryToRevoke('the key of the sign-in link', self, own.key)
  return own
}

/**
 * Replaces the session after the reader has agreed. The old session ends only when there is a new one. The tab keeps the new
 * key, because the link works only once, and a reload of the page has no other key. `goHome` is called before the new session
 * begins, because its organization does not have the place in the address.
 */
export const replaceSession = async (goHome = () => {}): Promise<void> => {
  if (waitingLink.value === undefined) return
  const own = await exchangeLink(waitingLink.value)
  const revokeOwn = leaveSession()
  goHome()
  begin(own.key, own.self, true)
  keepInTab(true)
  await revokeOwn()
}

const signInFromTab = async (): Promise<void> => {
  const kept = store()?.getItem(storageName)
  if (kept === null || kept === undefined) return
  const { key, isOwn } = JSON.parse(kept)
  try {
    begin(key, await describeKey(key), isOwn === true)
    isKept.value = true
  } catch (error) {
    const { status, message } = error as ApiError
    // Any other answer says nothing about the key, which may be the only one that can revoke itself.
    if (status !== 401) throw error
    forget()
    signInNotice.value = { label: 'Signed out', text: message }
  }
}

const linkFaults: Readonly<Record<string, string>> = {
  revoked_api_key: 'This sign-in link was used before, or its key was revoked.',
  expired_api_key: 'This sign-in link is older than 15 minutes.',
}

const linkFault = ({ status, code, message }: ApiError): string => {
  const mayWorkLater = code === 'no_answer' || status === 429 || status >= 500
  return `${linkFaults[code] ?? `The sign-in link did not work: ${message}`} ${mayWorkLater ? 'Open it again' : anotherLink}`
}

const anotherLink = `Get a new one with ${shellCommand('console link')}`

/** Starts the session from the sign-in link, or from the key kept in this tab. */
export const startSession = async (): Promise<void> => {
  connection.onRefusedKey = (_code, message) => {
    forget()
    signInNotice.value = { label: 'Signed out', text: `${message} What you typed is kept: sign in again to go on.` }
  }
  if (isSignInLink(location.hash)) return followSignInLink()
  try {
    await signInFromTab()
  } catch (error) {
    const { message } = error as ApiError
    signInNotice.value = { label: 'Not signed in', text: `${message} Load the page again to try again.` }
  }
}

export const isSignInLink = (hash: string): boolean => hash.startsWith('#key=')

/**
 * Follows the sign-in link in the address. Its key never stays there: `shownHash` replaces it. A reader who is signed in, also by
 * a key that this tab has kept, is asked first. Only a key that was made for links is used, and revoked.
 */
export const followSignInLink = async (shownHash = '#/'): Promise<void> => {
  const [, key] = /^#key=(svc_live_[0-9A-Za-z]+)$/.exec(location.hash) ?? []
  history.replaceState(null, '', shownHash)
  const fault = await tryLink(key)
  if (fault === undefined) return
  signInNotice.value =
    session.value === undefined
      ? { label: 'Not signed in', text: `${fault}, or sign in with a key.` }
      : { label: 'Still signed in', text: `${fault}.` }
}

/** Returns the reason why the link did not work. */
const tryLink = async (key: string | undefined): Promise<string | undefined> => {
  try {
    if (session.value === undefined) await signInFromTab()
    if (key === undefined) return 'The sign-in link is not whole. Copy all of it'
    const self = await describeKey(key)
    if (self.link !== true) return `The key in this link was not made for a link, and is not used. ${anotherLink}`
    waitingLink.value = { key, self }
    if (session.value === undefined) await replaceSession()
    return undefined
  } catch (error) {
    dropLink()
    return linkFault(error as ApiError)
  }
}
