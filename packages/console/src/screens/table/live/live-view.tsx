import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { route } from '../../../router.ts'
import { announce } from '../../../ui/announce.ts'
import type { TableQuery } from '../table-query.ts'
import { type Hold, LiveQuery, type LiveState } from './live-query.ts'

/** A page that is hidden for longer holds no connection: a browser has few for a host. */
const hiddenMsMax = 20_000
/** Shorter interruptions are not said. */
const saidAfterMs = 2_000
/** The first row is in sight. */
const topPx = 8

const scroller = (): Element | null => document.querySelector('.grid-scroll')

/** The reader works with rows, or reads further down. */
const holdOf = ({ selection }: TableQuery): Hold => {
  const grid = scroller()
  if (grid === null) return 'nothing'
  if (document.querySelector('dialog[open]') !== null) return 'everything'
  const isAtWork =
    selection.ids.peek().size > 0 ||
    route.peek().screen === 'record' ||
    grid.scrollTop > topPx ||
    grid.querySelector('tbody')?.contains(document.activeElement) === true ||
    document.querySelector('.cell-menu') !== null ||
    (getSelection()?.isCollapsed === false && grid.contains(getSelection()!.anchorNode))
  return isAtWork ? 'order' : 'nothing'
}

/** True after the page was hidden for some time, and from the start if it was opened in the background. */
const useIsAway = (): boolean => {
  const isAway = useSignal(document.hidden)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const onVisibility = () => {
      clearTimeout(timer)
      if (!document.hidden) isAway.value = false
      else {
        timer = setTimeout(() => {
          isAway.value = true
        }, hiddenMsMax)
      }
    }
    document.addEventListener('visibilitychange', onVisibility)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisibility)
    }
  }, [])
  return isAway.value
}

/** Shows what was held back once the reader has let go. */
const useSettling = (live: LiveQuery): void => {
  useSignalEffect(() => {
    void [live.query.selection.ids.value, route.value]
    setTimeout(() => live.settle())
  })
  useEffect(() => {
    // The element that gets the focus has it only after the event.
    const settle = () => setTimeout(() => live.settle())
    const events = ['focusin', 'focusout', 'scroll', 'selectionchange']
    for (const event of events) document.addEventListener(event, settle, { capture: true, passive: true })
    return () => {
      for (const event of events) document.removeEventListener(event, settle, { capture: true })
    }
  }, [live])
}

/** Says what lasts. The first "live" is not news. */
const useSaying = (state: LiveState): void => {
  const hasSaid = useSignal(false)
  const { word } = state
  const reason = word === 'stopped' ? state.reason : ''
  useEffect(() => {
    if (word === 'live' && hasSaid.peek()) announce('Live again')
    if (word === 'live') hasSaid.value = false
    if (word === 'live' || word === 'connecting') return
    const say = () => {
      hasSaid.value = true
      announce(word === 'stopped' ? `Live view stopped: ${reason}` : 'Live view: reconnecting')
    }
    const timer = setTimeout(say, word === 'stopped' ? 0 : saidAfterMs)
    return () => clearTimeout(timer)
  }, [word, reason])
}

interface Props {
  query: TableQuery
  isKept: boolean
  onNotKept: () => void
}

/** Follows the shown query. Its dot says how that goes; a click pauses it. */
export const LiveView = ({ query, isKept, onNotKept }: Props) => {
  const live = useMemo(() => new LiveQuery(query, () => holdOf(query), onNotKept), [query])
  const isPaused = useSignal(false)
  const tries = useSignal(0)
  const isAway = useIsAway()
  const isPaged = query.isPaged.value
  const isAsked = query.asked.value !== undefined
  useEffect(() => {
    if (isAway || !isKept || !isAsked) return
    if (isPaused.value) live.stop('paused by you')
    else if (isPaged) live.stop('more than the first page is loaded')
    else live.follow()
    return () => live.close()
  }, [live, query.loads.value, tries.value, isPaused.value, isAsked, isKept, isPaged, isAway])
  useEffect(() => {
    query.onShowLater = () => {
      scroller()?.scrollTo({ top: 0 })
      live.showLater()
    }
    return () => live.leave()
  }, [live])
  useSettling(live)
  const state = live.state.value
  useSaying(state)
  const isStopped = state.word === 'stopped'
  const toggle = () => {
    if (!isStopped) isPaused.value = true
    else if (isPaused.value) isPaused.value = false
    else if (isPaged) {
      scroller()?.scrollTo({ top: 0 })
      query.again()
    } else tries.value++
  }
  return (
    <>
      <button
        type="button"
        class="quiet live-state"
        data-state={state.word}
        title={isStopped ? 'Follow the table again' : 'Pause: rows stay as they are'}
        disabled={!isKept}
        onClick={toggle}
      >
        <span class="live-dot" aria-hidden="true" />
        {state.word}
      </button>
      {isStopped && (
        <span class="live-text" title={state.reason}>
          {state.reason}
        </span>
      )}
    </>
  )
}
