import { useEffect } from 'preact/hooks'
import { leave, navigate, route, stay, wantedHash } from './router.ts'
import { AboutScreen } from './screens/about.tsx'
import { DatabaseScreen } from './screens/database.tsx'
import { HomeScreen } from './screens/home.tsx'
import { KeysScreen } from './screens/keys.tsx'
import { PadScreen } from './screens/pad.tsx'
import { RecordScreen } from './screens/record/record.tsx'
import { SignIn, SignInNotice } from './screens/sign-in.tsx'
import { TableScreen } from './screens/table/table.tsx'
import { forgetCatalogue, loadCatalogue } from './state/catalogue.ts'
import { dropLink, replaceSession, session, waitingLink } from './state/session.ts'
import { LiveRegions } from './ui/announce.tsx'
import { Confirm } from './ui/form.tsx'
import { later } from './ui/later.tsx'
import { LiveKeys } from './ui/live-keys.tsx'
import { Rail } from './ui/rail.tsx'
import { Empty, Screen } from './ui/screen.tsx'
import { startShortcuts } from './ui/shortcuts.ts'
import { Toasts } from './ui/toasts.tsx'

const loadMore = () => import('./screens/later-screens.ts')
const BucketScreen = later(async () => (await loadMore()).BucketScreen)
const BucketsScreen = later(async () => (await loadMore()).BucketsScreen)
const FileScreen = later(async () => (await loadMore()).FileScreen)
const ImportScreen = later(async () => (await loadMore()).ImportScreen)
const RunScreen = later(async () => (await loadMore()).RunScreen)
const TaskScreen = later(async () => (await loadMore()).TaskScreen)
const TasksScreen = later(async () => (await loadMore()).TasksScreen)

const CurrentScreen = () => {
  const at = route.value
  switch (at.screen) {
    case 'home':
      return <HomeScreen />
    case 'database':
      return <DatabaseScreen key={at.db} db={at.db} />
    // One component for both, so that a record can open beside the grid without a new query.
    case 'table':
      return <TableScreen key={`${at.db}/${at.table}`} db={at.db} table={at.table} />
    case 'record':
      return (
        <TableScreen
          key={`${at.db}/${at.table}`}
          db={at.db}
          table={at.table}
          record={{ hashKey: at.hashKey, rangeKey: at.rangeKey }}
        />
      )
    case 'newRecord':
      return <RecordScreen key="new" db={at.db} table={at.table} />
    case 'about':
      return <AboutScreen key={`${at.db}/${at.table}`} db={at.db} table={at.table} />
    case 'buckets':
      return <BucketsScreen key={at.db} db={at.db} />
    case 'bucket':
      return <BucketScreen key={`${at.db}/${at.bucket}`} db={at.db} bucket={at.bucket} />
    case 'file':
      return <FileScreen key={`${at.db}/${at.bucket}/${at.name}`} db={at.db} bucket={at.bucket} name={at.name} />
    case 'tasks':
      return <TasksScreen key={at.db} db={at.db} />
    case 'task':
      return <TaskScreen key={`${at.db}/${at.task}`} db={at.db} task={at.task} />
    case 'run':
      return <RunScreen key={`${at.db}/${at.task}/${at.run}`} db={at.db} task={at.task} run={at.run} />
    case 'keys':
      return <KeysScreen />
    case 'pad':
      return <PadScreen />
    case 'import':
      return <ImportScreen />
    case 'unknown':
      return (
        <Screen title="No such page">
          <Empty text={<>This address of the console has no page.</>}>
            <a class="button filled" href="#/">
              All databases
            </a>
          </Empty>
        </Screen>
      )
  }
}

/** A new screen is read from its top: the focus goes to its main part. */
const useFocusOnRoute = (): void => {
  const at = route.value
  useEffect(() => {
    if (document.activeElement === null || document.activeElement === document.body) {
      document.getElementById('main')?.focus({ preventScroll: true })
    }
  }, [at])
}

const SignedIn = ({ keyId }: { keyId: string }) => {
  useEffect(() => {
    loadCatalogue()
    return forgetCatalogue
  }, [keyId])
  useFocusOnRoute()
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={skipToMain}>
        Skip to the main part
      </button>
      <Rail />
      <div class="screen">
        <SignInNotice />
        <LiveKeys />
        <CurrentScreen />
      </div>
      {wantedHash.value !== undefined && (
        <Confirm title="Leave without saving?" action="Leave" run={leave} onClose={stay}>
          <p>
            The text on this page is not saved. If you leave, your changes are kept as a draft until you close the tab.
          </p>
        </Confirm>
      )}
      {waitingLink.value !== undefined && <ReplaceSession link={waitingLink.value} />}
    </div>
  )
}

const replaceAndGoHome = (): Promise<void> => replaceSession(() => navigate('#/', { replace: true }))

const ReplaceSession = ({ link }: { link: NonNullable<typeof waitingLink.value> }) => {
  const { organization, masked } = session.value!.self
  return (
    <Confirm title="Sign in by the link?" action="Sign out and use the link" run={replaceAndGoHome} onClose={dropLink}>
      <p>
        You are signed in to <strong>{organization}</strong> with <code>{masked}</code>. The link signs you in to{' '}
        <strong>{link.self.organization}</strong> instead. If you did not open it yourself, cancel.
      </p>
    </Confirm>
  )
}

const skipToMain = (): void => {
  document.getElementById('main')?.focus()
}

/** Links of the page go through the router, so that it can ask about unsaved text first. */
const followLink = (event: MouseEvent): void => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
  const link = event.target instanceof Element && event.target.closest<HTMLAnchorElement>('a[href^="#/"]')
  if (!link) return
  event.preventDefault()
  navigate(link.getAttribute('href')!)
}

export const App = () => {
  const self = session.value?.self
  useEffect(() => {
    const stop = startShortcuts()
    addEventListener('click', followLink)
    return () => {
      stop()
      removeEventListener('click', followLink)
    }
  }, [])
  return (
    <>
      {self === undefined ? <SignIn /> : <SignedIn keyId={self.id} />}
      <Toasts />
      <LiveRegions />
    </>
  )
}
