import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { messageOf } from '../../api/error.ts'
import { alarm } from '../../ui/announce.ts'
import type { Loaded } from '../../ui/load.tsx'

const pauseMsMax = 30_000
const failedPauseMs = 2_000

/** The pause after this many failures in a row. */
const pauseMs = (everyMs: number, failures: number): number =>
  failures === 0 ? everyMs : Math.min(pauseMsMax, Math.max(everyMs, failedPauseMs) * 2 ** failures)

interface Live {
  /** The error of the last refresh; undefined if it worked. */
  error: Signal<unknown>
  refresh: () => void
}

/** Loads again every `everyMs` while `isOn` and the page is visible; after errors less and less often. */
export const useLive = (loaded: Loaded<unknown>, everyMs: number, isOn: boolean): Live => {
  const again = useSignal(0)
  useEffect(() => {
    if (!isOn) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let failures = 0
    let isOver = false
    const wait = () => {
      clearTimeout(timer)
      if (!document.hidden && !isOver) timer = setTimeout(tick, pauseMs(everyMs, failures))
    }
    const tick = async () => {
      await loaded.reload()
      const error = loaded.error.value
      if (error !== undefined && failures === 0) alarm(messageOf(error))
      failures = error === undefined ? 0 : failures + 1
      wait()
    }
    const onVisibility = () => {
      clearTimeout(timer)
      if (!document.hidden) tick()
    }
    document.addEventListener('visibilitychange', onVisibility)
    if (again.value > 0) tick()
    else wait()
    return () => {
      isOver = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisibility)
    }
  }, [isOn, again.value])
  return {
    error: loaded.error,
    refresh: () => {
      again.value++
    },
  }
}

/** The line has a fixed height, so that nothing below it moves. */
export const LiveLine = ({ of: { error, refresh }, pausedBecause }: { of: Live; pausedBecause?: string }) => (
  <div class="live">
    {error.value !== undefined ? (
      <>
        <span class="tag danger">Not live</span>
        <span class="live-text" title={messageOf(error.value)}>
          {messageOf(error.value)}
        </span>
        <button type="button" class="link" onClick={refresh}>
          Try now
        </button>
      </>
    ) : pausedBecause === undefined ? (
      <span class="tag ok">Live</span>
    ) : (
      <>
        <span class="tag">Paused</span>
        <span class="live-text">{pausedBecause}</span>
      </>
    )}
  </div>
)
