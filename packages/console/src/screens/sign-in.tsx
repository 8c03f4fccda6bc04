import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { basePath } from '../api/request.ts'
import type { OwnKey } from '../api/types.ts'
import { type Route, route } from '../router.ts'
import { hasDrafts } from '../state/drafts.ts'
import {
  canCreateKeys,
  describeKey,
  noHoursReason,
  session,
  signIn,
  signInByLink,
  signInNotice,
} from '../state/session.ts'
import { shellCommand } from '../text/shell-command.ts'
import { into } from '../ui/action.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Check, Field } from '../ui/form.tsx'
import { LiveKeys } from '../ui/live-keys.tsx'
import { loadLater } from './load-later.ts'

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

const keyForm = /^svc_(live|pub)_[0-9A-Za-z]{38}$/

/** The key in a sign-in link. */
const linkKey = (typed: string): string | undefined => /#key=(svc_live_[0-9A-Za-z]+)$/.exec(typed.trim())?.[1]

/** The place that the address shows, in words; undefined for the first page. */
const placeWords = (at: Route): string | undefined => {
  if (at.screen === 'home' || at.screen === 'unknown') return undefined
  if (!('db' in at) || at.db === undefined) return 'the page of this address'
  const { table, bucket, task } = at as { table?: string; bucket?: string; task?: string }
  const name = [at.db, table ?? bucket ?? task].filter((part) => part !== undefined).join(' / ')
  return 'query' in at && at.query ? `${name}, with the query of this address` : name
}

const namesShownMax = 5

const scopeOf = ({ databases }: OwnKey): string => {
  if (databases === null) return 'all databases'
  const more = databases.length - namesShownMax
  const names = databases.slice(0, namesShownMax).join(', ')
  return more > 0 ? `${names} and ${more} more databases` : `only ${names}`
}

export const describeOwn = (self: OwnKey): string =>
  `A ${self.kind} key of ${self.organization}: it ${self.kind === 'secret' ? 'reads and writes' : 'reads'} ${scopeOf(self)}.`

/** `self` is undefined until the server has answered. */
const whatItMayDo = (key: string, self: OwnKey | undefined): string | undefined => {
  if (linkKey(key) !== undefined) return 'A sign-in link works once, and signs you in for 12 hours.'
  if (self !== undefined) return describeOwn(self)
  if (key.startsWith('svc_live_'))
    return 'A secret key reads and writes everything, unless it is limited to some databases.'
  if (key.startsWith('svc_pub_')) return 'A public key only reads.'
  return undefined
}

export const SignIn = () => {
  const input = useRef<HTMLInputElement>(null)
  const typed = useSignal('')
  const keep = useSignal(false)
  const forHours = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const fault = useSignal<string | undefined>(undefined)
  const isRunning = useSignal(false)
  /** The server's description of the key that is typed. */
  const self = useSignal<OwnKey | undefined>(undefined)
  useEffect(() => {
    document.title = 'Sign in · Cubby'
    input.current?.focus()
    // The other screens load while the key is pasted. If that fails, the screen that needs them says so.
    loadLater().catch(() => {})
    // The session ended before they were saved.
    const askAboutDrafts = (event: Event): void => {
      if (hasDrafts()) event.preventDefault()
    }
    addEventListener('beforeunload', askAboutDrafts)
    return () => removeEventListener('beforeunload', askAboutDrafts)
  }, [])
  const type = async (text: string) => {
    typed.value = text
    fault.value = undefined
    self.value = undefined
    const key = text.trim()
    if (!keyForm.test(key)) return
    try {
      const described = await describeKey(key)
      if (typed.value === text) self.value = described
    } catch {
      // Signing in says why.
    }
  }
  const typedKey = typed.value.trim()
  const isPublic = typedKey.startsWith('svc_pub_')
  const isLink = linkKey(typedKey) !== undefined
  const place = placeWords(route.value)
  const offersHours = !isPublic && (self.value === undefined || canCreateKeys(self.value))
  const submit = async (event: Event) => {
    event.preventDefault()
    const key = typed.value.trim()
    const link = linkKey(key)
    error.value = undefined
    fault.value =
      link !== undefined || keyForm.test(key)
        ? undefined
        : 'An API key is svc_live_ or svc_pub_ and 38 letters and digits. Copy the whole key.'
    if (fault.value !== undefined || isRunning.value) return
    isRunning.value = true
    try {
      if (link === undefined) await signIn(key, { keep: keep.value, forHours: forHours.value && offersHours })
      else await signInByLink(link)
    } catch (thrown) {
      error.value = thrown
      isRunning.value = false
    }
  }
  return (
    <main class="sign-in">
      <form class="stack" onSubmit={submit}>
        <h1>
          <span class="mark" aria-hidden="true" /> Cubby
        </h1>
        <SignInNotice />
        <LiveKeys />
        <Field
          label="API key"
          fault={fault.value}
          hint={
            whatItMayDo(typedKey, self.value) ??
            `Or paste a sign-in link. The first start of the server printed both. The operator creates more with ${shellCommand('keys create')}.`
          }
        >
          {(id, describedBy) => (
            <input
              ref={input}
              id={id}
              type="password"
              class="mono"
              autocomplete="off"
              spellcheck={false}
              aria-describedby={describedBy}
              aria-invalid={fault.value !== undefined}
              onInput={(event) => type(event.currentTarget.value)}
            />
          )}
        </Field>
        {!isLink && (
          <Check
            label="Keep in this tab"
            note="until it is closed, also when the page is loaded again"
            isOn={keep.value}
            onChange={into(keep)}
          />
        )}
        {!isPublic && !isLink && (
          <Check
            label="Sign in for 12 hours"
            note={offersHours ? 'with a key made for it, which is revoked when you sign out' : noHoursReason}
            isOn={forHours.value && offersHours}
            isDisabled={!offersHours}
            onChange={into(forHours)}
          />
        )}
        {error.value !== undefined && <ErrorBox error={error.value} />}
        <div class="actions">
          <button type="submit" class="filled" disabled={isRunning.value}>
            Sign in
          </button>
        </div>
        {place !== undefined && (
          <p class="muted">
            After that you come to <strong>{place}</strong>. Keys are not shared between tabs, so each tab signs in by
            itself: by a key, or by a sign-in link that you paste here.
          </p>
        )}
        <p class="muted">
          <a href={`${basePath}/docs`}>Read the documentation</a>
        </p>
      </form>
    </main>
  )
}
