import { useEffect } from 'preact/hooks'
import { tickAges } from './api/clock.ts'
import { leave, navigate, route, stay, wantedHash } from './router.ts'
import { loadLater } from './screens/load-later.ts'
import { RecordScreen } from './screens/record/record.tsx'
import { SignIn, SignInNotice } from './screens/sign-in.tsx'
import { TableScreen } from './screens/table/table.tsx'
import { forgetCatalogue, loadCatalogue } from './state/catalogue.ts'
import { closeOverlay, createdTables, overlay } from './state/overlay.ts'
import { rememberTable } from './state/recent-tables.ts'
import { dropLink, replaceSession, session, waitingLink } from './state/session.ts'
import { Confirm } from './ui/form.tsx'
import { later } from './ui/later.tsx'
import { LiveKeys } from './ui/live-keys.tsx'
import { LiveRegions } from './ui/live-regions.tsx'
import { Rail } from './ui/rail.tsx'
import { Empty, Screen } from './ui/screen.tsx'
import { startShortcuts } from './ui/shortcuts.ts'
import { Toasts } from './ui/toasts.tsx'

const AboutScreen = later(async () => (await loadLater()).AboutScreen)
const BucketScreen = later(async () => (await loadLater()).BucketScreen)
const BucketsScreen = later(async () => (await loadLater()).BucketsScreen)
const DatabaseScreen = later(async () => (await loadLater()).DatabaseScreen)
const FileScreen = later(async () => (await loadLater()).FileScreen)
const HomeScreen = later(async () => (await loadLater()).HomeScreen)
const ImportScreen = later(async () => (await loadLater()).ImportScreen)
const KeysScreen = later(async () => (await loadLater()).KeysScreen)
const PadScreen = later(async () => (await loadLater()).PadScreen)
const RunScreen = later(async () => (await loadLater()).RunScreen)
const TaskScreen = later(async () => (await loadLater()).TaskScreen)
const TasksScreen = later(async () => (await loadLater()).TasksScreen)
const Overlays = later(
  async () => (await loadLater()).Overlays,
  (failure) => failure !== undefined && <div class="toasts">{failure}</div>,
)

const CurrentScreen = () => {
  const at = route.value
  const created = createdTables.value
  switch (at.screen) {
    case 'home':
      return <HomeScreen />
    case 'database':
      return <DatabaseScreen key={at.db} db={at.db} />
    // One component for both, so that a record can open beside the grid without a new query.
    case 'table':
      return <TableScreen key={`${at.db}/${at.table} ${created}`} db={at.db} table={at.table} />
    case 'record':
      return (
        <TableScreen
          key={`${at.db}/${at.table} ${created}`}
          db={at.db}
          table={at.table}
          record={{ hashKey: at.hashKey, rangeKey: at.rangeKey }}
        />
      )
    case 'newRecord':
      return <RecordScreen key={`new ${created}`} db={at.db} table={at.table} />
    case 'about':
      return <AboutScreen key={`${at.db}/${at.table} ${created}`} db={at.db} table={at.table} />
    case 'buckets':
      return <BucketsScreen key={at.db} db={at.db} />
    case 'bucket':
      return <BucketScreen key={`${at.db}/${at.bucket}`} db={at.db} bucket={at.bucket} />
    case 'file':
      return <FileScreen key={`${at.db}/${at.bucket}/${at.name}`} db={at.db} bucket={at.bucket} name={at.name} />
    case 'tasks':
      return <TasksScreen key={at.db} db={at.db} />
    case 'task':
      return <TaskScreen key={`${at.db}/${at.task}`} db={at.db} task={at.task} status={at.status} />
    case 'run':
      return <RunScreen key={`${at.db}/${at.task}/${at.run}`} db={at.db} task={at.task} run={at.run} />
    case 'keys':
      return <KeysScreen />
    case 'pad':
      return <PadScreen />
    case 'import':
      return <ImportScreen key={`${at.db}/${at.table}`} db={at.db} table={at.table} />
    case 'unknown':
      return (
        <Screen title="No such page">
          <Empty text={<>This address of the console has no page.</>}>
            <a class="button filled" href="#/">
              Overview
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
  useEffect(() => {
    closeOverlay()
    rememberTable(route.value)
  }, [route.value])
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
      <Toasts />
      {wantedHash.value !== undefined && (
        <Confirm title="Leave without saving?" action="Leave" isDangerous={false} run={leave} onClose={stay}>
          <p>
            The text on this page is not saved. If you leave, your changes are kept as a draft until you close the tab.
          </p>
        </Confirm>
      )}
      {overlay.value !== undefined && <Overlays of={overlay.value} onClose={closeOverlay} />}
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
        <strong>{link.self.organization}</strong> instead. If you did not open it yourself, choose "Cancel".
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
    const timer = setInterval(tickAges, 1_000)
    addEventListener('click', followLink)
    return () => {
      stop()
      clearInterval(timer)
      removeEventListener('click', followLink)
    }
  }, [])
  return (
    <>
      {self === undefined ? (
        <>
          <SignIn />
          <Toasts />
        </>
      ) : (
        <SignedIn keyId={self.id} />
      )}
      <LiveRegions />
    </>
  )
}
