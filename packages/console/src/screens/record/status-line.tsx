import { type ReadonlySignal, untracked, useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { dataBytesMax } from '../../../../server/src/core/limits.ts'
import type { Indices } from '../../api/types.ts'
import { checkRecord, recordBytes, type TextFault } from '../../text/check.ts'
import { showInstant } from '../../text/instant.ts'
import type { Editing } from './editing.ts'
import { placementOf, placementWords } from './placement.ts'

/** Longer texts are checked when the typing pauses. */
const checkedAtOnceMax = 50_000
const pauseMs = 150
const savedShownMs = 8_000

interface Checked {
  fault?: TextFault
  /** `in i1 and i2` */
  placement: string
  /** The words about the white space that will be stored. */
  layout: string
  bytes: number
}

export const checkText = (editing: Editing, indices: Indices | undefined): Checked => {
  const shown = editing.shown.peek()
  const checked = checkRecord(shown, dataBytesMax, () => editing.text)
  const bytes = recordBytes(editing.text)
  const known = { placement: '', layout: '', bytes }
  if (!checked.ok) return { ...known, fault: checked }
  if (indices === undefined) return known
  const { fault, ...found } = placementOf(shown, indices)
  if (fault !== undefined) return { ...known, fault }
  const placement = placementWords('slots' in found ? found.slots : [], indices)
  return { placement, layout: editing.layoutWords, bytes }
}

/** Checks the text: at once if it is short, otherwise soon after the last change. */
export const useChecked = (editing: Editing, indices: ReadonlySignal<Indices | undefined>): ReadonlySignal<Checked> => {
  /** Counts the pauses. */
  const settled = useSignal(0)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useSignalEffect(() => {
    const { length } = editing.shown.value
    // They change what is saved.
    editing.storesShown.value
    editing.base.value
    clearTimeout(timer.current)
    const settle = () => {
      settled.value = settled.peek() + 1
    }
    if (length <= checkedAtOnceMax) settle()
    else timer.current = setTimeout(settle, pauseMs)
    return () => clearTimeout(timer.current)
  })
  return useComputed(() => {
    settled.value
    const known = indices.value
    return untracked(() => checkText(editing, known))
  })
}

/** The time of the version that was just saved, for a moment. */
export const useSavedTime = (editing: Editing): string | undefined => {
  const saves = editing.saves.value
  /** The saves that have been shown. */
  const shown = useSignal(0)
  useEffect(() => {
    const timer = setTimeout(() => {
      shown.value = saves
    }, savedShownMs)
    return () => clearTimeout(timer)
  }, [saves])
  const { version } = editing.base.value
  return saves > shown.value && version !== undefined && !editing.isChanged.value ? showInstant(version).utc : undefined
}

interface Props {
  id: string
  checked: Checked
  savedTime: string | undefined
  caret: { line: number; column: number }
  onGoTo: (offset: number) => void
}

export const StatusLine = ({ id, checked: { fault, placement, layout, bytes }, savedTime, caret, onGoTo }: Props) => (
  <div class={savedTime === undefined ? 'status-line' : 'status-line saved'}>
    <div id={id}>
      {fault === undefined && savedTime !== undefined ? (
        <>
          <strong>Saved</strong> {savedTime}
        </>
      ) : fault === undefined ? (
        <>
          <strong class="status-ok">Valid JSON</strong>
          {placement !== '' && ` · ${placement}`}
        </>
      ) : (
        <button type="button" class="link status-fault" onClick={() => onGoTo(fault.offset)}>
          <strong>Error:</strong> {fault.message}
        </button>
      )}
    </div>
    <div class="status-facts">
      {layout !== '' && `${layout} · `}
      {bytes.toLocaleString('en')} of {dataBytesMax.toLocaleString('en')} bytes · line {caret.line}, column{' '}
      {caret.column}
    </div>
  </div>
)
