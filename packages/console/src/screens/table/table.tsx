import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { pathOf, read } from '../../api/request.ts'
import type { TableMetadata } from '../../api/types.ts'
import { hasUnsaved, hrefOf, navigate, type Route, route } from '../../router.ts'
import { preference, setPreference } from '../../state/preferences.ts'
import { canWrite, session } from '../../state/session.ts'
import { set } from '../../ui/action.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Placeholder, useLoad } from '../../ui/load.tsx'
import { useMedia } from '../../ui/media.ts'
import { Screen } from '../../ui/screen.tsx'
import { RecordPanel } from '../record/panel.tsx'
import { RecordScreen } from '../record/record.tsx'
import { normalKey } from '../record/record-key.ts'
import { defaultFields, fieldsOf } from './columns.ts'
import { ColumnsMenu } from './columns-menu.tsx'
import { Grid } from './grid.tsx'
import { Jobs } from './jobs.ts'
import { Live } from './live.tsx'
import { NoRows, WrongAddress } from './no-rows.tsx'
import { QueryBar } from './query-bar.tsx'
import { readForm } from './query-form.ts'
import { RequestDialog } from './request-dialog.tsx'
import { idOf, type RecordKeys } from './rows.ts'
import { Splitter, usePanelWidth } from './splitter.tsx'
import { StatusLine } from './status-line.tsx'
import { shownRowsMax, TableQuery } from './table-query.ts'
import { WritesPicture } from './writes-picture.tsx'

interface Props {
  db: string
  table: string
  record?: RecordKeys
}

/** A record opens beside the grid from this width on. */
const wide = matchMedia('(min-width: 1200px)')

const Actions = ({ db, table }: { db: string; table: string }) => (
  <>
    <a class="button" href={hrefOf({ screen: 'about', db, table })}>
      About
    </a>
    {canWrite.value && (
      <>
        <a class="button" href={hrefOf({ screen: 'import', db, table })}>
          Import
        </a>
        <a class="button filled" href={hrefOf({ screen: 'newRecord', db, table })}>
          New record
        </a>
      </>
    )}
  </>
)

/** The fields that are columns: as the reader chose them, or the index fields and the most frequent others. */
const useFields = (query: TableQuery) => {
  const name = `columns.${session.value?.self.organization}.${query.db}.${query.table}`
  const kept = preference<unknown>(name, undefined)
  const chosen = useSignal(Array.isArray(kept) ? kept.filter((field) => typeof field === 'string') : undefined)
  const asked = query.asked.value
  const rows = query.rows.value
  // The columns stay while a query is shown: fields of rows that are added can be chosen, but add no column.
  const offered = useMemo(() => fieldsOf(rows, query.indices), [rows])
  const automatic = useMemo(() => defaultFields(offered, query.indices), [asked])
  const shown = chosen.value ?? automatic
  const choose = (fields: string[] | undefined): void => {
    chosen.value = fields
    setPreference(name, fields ?? null)
  }
  return { offered: [...new Set([...offered, ...shown])], shown, chosen: chosen.value, choose }
}

/** The width of an element without its scroll bar. */
const useRoom = (element: { current: HTMLElement | null }): number => {
  const roomPx = useSignal(0)
  useLayoutEffect(() => {
    const measure = () => {
      roomPx.value = element.current!.clientWidth
    }
    measure()
    const watcher = new ResizeObserver(measure)
    watcher.observe(element.current!)
    return () => watcher.disconnect()
  }, [])
  return roomPx.value
}

/** `record` is open beside the grid. */
const Results = ({ query, jobs, record }: { query: TableQuery; jobs: Jobs; record: RecordKeys | undefined }) => {
  const { db, table } = query
  const scroller = useRef<HTMLDivElement>(null)
  const isAskingRequest = useSignal(false)
  const hasWrites = useSignal(false)
  const width = usePanelWidth()
  const { offered, shown, chosen, choose } = useFields(query)
  const asked = query.asked.value
  const openId = record && idOf(record)

  const roomPx = useRoom(scroller)
  useEffect(() => scroller.current?.scrollTo(0, query.scrollTop), [asked, roomPx > 0])
  const view = query.view.value
  const lastView = useRef(view)
  // When the order changes, the grid scrolls to the first row.
  useEffect(() => {
    if (view !== lastView.current) scroller.current?.scrollTo({ top: 0 })
    lastView.current = view
  }, [view])
  const routeTo = (keys: RecordKeys): Route => ({ screen: 'record', db, table, ...keys, query: query.address })
  const moving = useRef<ReturnType<typeof setTimeout>>(undefined)
  // The records that a held arrow key passes are not loaded, and do not fill the history.
  const move = (keys: RecordKeys): void => {
    clearTimeout(moving.current)
    moving.current = setTimeout(() => navigate(routeTo(keys), { replace: !hasUnsaved() }), 80)
  }
  const close = (): void => navigate({ screen: 'table', db, table, query: query.address })
  const rows = query.rows.value
  const addressFault = query.addressFault.value
  const isFull = rows.length >= shownRowsMax
  return (
    <div class="table-screen">
      <QueryBar
        query={query}
        onShowRequest={() => {
          query.settle()
          const request = readForm(query.form.value, query.indices)
          if ('fault' in request) query.fault.value = request
          else isAskingRequest.value = true
        }}
      />
      {isAskingRequest.value && <RequestDialog query={query} onClose={set(isAskingRequest, false)} />}
      <div class="table-split">
        <div class="table-side">
          <StatusLine query={query} jobs={jobs}>
            <ColumnsMenu fields={offered} shown={shown} isChosen={chosen !== undefined} choose={choose} />
            <button
              type="button"
              class="quiet"
              aria-expanded={hasWrites.value}
              onClick={() => {
                hasWrites.value = !hasWrites.value
              }}
            >
              Writes
            </button>
          </StatusLine>
          {hasWrites.value && <WritesPicture query={query} />}
          {query.error.value !== undefined && (
            <div class="table-error">
              <ErrorBox error={query.error.value} retry={() => query.run()} />
            </div>
          )}
          <div
            class="grid-scroll"
            ref={scroller}
            aria-busy={query.isRunning.value}
            onScroll={(event) => {
              query.scrollTop = event.currentTarget.scrollTop
            }}
          >
            {addressFault !== undefined && <WrongAddress query={query} fault={addressFault} />}
            {asked === undefined && query.isSlow.value && <Placeholder rows={8} />}
            {asked !== undefined && rows.length > 0 && roomPx > 0 && (
              <Grid
                query={query}
                fields={shown}
                roomPx={roomPx}
                openId={openId}
                open={(keys) => {
                  if (idOf(keys) !== openId) navigate(routeTo(keys))
                  else document.querySelector<HTMLElement>('.record-side textarea, .record-side button')?.focus()
                }}
                move={move}
                close={close}
              />
            )}
            {asked !== undefined && rows.length === 0 && query.cursor.value === null && <NoRows query={query} />}
            {query.cursor.value !== null && (
              <p class="more">
                {isFull ? (
                  `${rows.length.toLocaleString('en')} records are shown. Narrow the query, or export it.`
                ) : (
                  <button type="button" disabled={query.isRunning.value} onClick={() => query.more()}>
                    More
                  </button>
                )}
              </p>
            )}
          </div>
        </div>
        {record && (
          <>
            <Splitter width={width} />
            <div class="record-side" style={{ width: `${width.value}px` }}>
              <RecordPanel
                key={openId}
                db={db}
                table={table}
                record={record}
                onSaved={(row) => query.replace(row)}
                onDeleted={(deleted) => {
                  query.remove(new Set([idOf(record)]))
                  if (deleted !== undefined) jobs.hasLost(deleted)
                  close()
                }}
                onOpen={(keys) => navigate(routeTo(normalKey(keys)))}
                onClose={close}
              />
            </div>
          </>
        )}
      </div>
    </div>
  )
}

/** Puts the query that was run into the address. An open record stays open, with the text that was typed in it. */
const goToQuery = (query: string, replaces: boolean): void => {
  const at = route.peek()
  if (at.screen === 'table' || at.screen === 'record') navigate({ ...at, query }, { replace: replaces || hasUnsaved() })
}

export const TableScreen = ({ db, table, record }: Props) => {
  const isWide = useMedia(wide)
  const declared = useLoad((signal) => read<TableMetadata>('GET', pathOf('v1', db, table), { signal }), [db, table])
  const { indices } = declared.value.value ?? {}
  const at = route.value
  const address = (at.screen === 'table' || at.screen === 'record' ? at.query : undefined) ?? ''
  const query = useMemo(() => indices && new TableQuery(db, table, indices, goToQuery), [indices])
  const jobs = useMemo(() => query && new Jobs(query), [query])
  useEffect(() => query?.show(address), [query, address])
  useEffect(
    () => () => {
      query?.stop()
      jobs?.leave()
    },
    [query],
  )
  if (query && record) query.lastOpenId = idOf(record)
  const isPage = record !== undefined && !isWide
  // A record that was open as a page is read again when the grid is shown: it may have changed there.
  const onPage = useRef<RecordKeys>(undefined)
  useEffect(() => {
    if (!isPage && onPage.current) query?.refresh(onPage.current)
    onPage.current = isPage ? record : undefined
  }, [isPage, record])
  if (isPage)
    return (
      <RecordScreen
        key={idOf(record)}
        db={db}
        table={table}
        record={record}
        query={address}
        onDeleted={(deleted) => {
          query?.remove(new Set([idOf(record)]))
          if (deleted !== undefined) jobs?.hasLost(deleted)
        }}
      />
    )
  return (
    <Screen
      path={[{ label: db, to: { screen: 'database', db } }]}
      title={table}
      beside={query && <Live key={query.path} query={query} declared={declared.value} />}
      actions={query && <Actions db={db} table={table} />}
    >
      {query && jobs && <Results query={query} jobs={jobs} record={record} />}
      {declared.error.value !== undefined && (
        <div class="pad">
          <ErrorBox error={declared.error.value} retry={declared.reload} />
          <p>
            <a href={hrefOf({ screen: 'database', db })}>All tables of {db}</a>
          </p>
        </div>
      )}
      {!query && declared.error.value === undefined && declared.isSlow.value && (
        <div class="pad">
          <Placeholder rows={8} />
        </div>
      )}
    </Screen>
  )
}
