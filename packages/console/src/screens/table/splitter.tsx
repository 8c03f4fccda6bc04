import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { preference, setPreference } from '../../state/preferences.ts'

const preferenceName = 'recordPanelPx'
const defaultPx = 440
const minPx = 320
const stepPx = 16

/** The grid keeps some room. */
const maxPx = (): number => Math.max(minPx, Math.min(900, innerWidth - 232 - 360))

const bounded = (px: number): number => Math.round(Math.min(Math.max(px, minPx), maxPx()))

/** The width of the record beside the grid, remembered in this browser. */
export const usePanelWidth = (): Signal<number> => {
  const stored = preference<unknown>(preferenceName, defaultPx)
  return useSignal(bounded(typeof stored === 'number' ? stored : defaultPx))
}

/** The splitter is moved by mouse, or by the arrow keys. */
export const Splitter = ({ width }: { width: Signal<number> }) => {
  const set = (px: number): void => {
    width.value = bounded(px)
    setPreference(preferenceName, width.value)
  }
  useEffect(() => {
    const refit = () => {
      width.value = bounded(width.value)
    }
    addEventListener('resize', refit)
    return () => removeEventListener('resize', refit)
  }, [])
  const steps: Record<string, () => void> = {
    ArrowLeft: () => set(width.value + stepPx),
    ArrowRight: () => set(width.value - stepPx),
    Home: () => set(maxPx()),
    End: () => set(minPx),
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves is no <hr>
    <div
      class="splitter"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label="Width of the record"
      aria-valuenow={width.value}
      aria-valuemin={minPx}
      aria-valuemax={maxPx()}
      onKeyDown={(event) => {
        const step = steps[event.key]
        if (step === undefined) return
        event.preventDefault()
        step()
      }}
      onPointerDown={(event) => {
        event.preventDefault()
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) set(innerWidth - event.clientX)
      }}
      onDblClick={() => set(defaultPx)}
    />
  )
}
