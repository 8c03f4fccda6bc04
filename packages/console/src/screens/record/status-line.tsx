import { type ReadonlySignal, untracked, useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { dataBytesMax } from '../../../../server/src/core/limits.ts'
import type { Indices } from '../../api/types.ts'
import { checkRecord, recordBytes, type TextFault } from '../../text/check.ts'
import type { Editing } from './editing.ts'
import { placementOf, placementWords } from './placement.ts'

/** Longer texts are checked when the typing pauses. */
const checkedAtOnceMax = 50_000
const pauseMs = 150

interface Checked {
  fault?: TextFault
  /** `in i1 and i2` */
  placement: string
  /** What becomes of the white space. */
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

/** What is known of the text: at once if it is short, otherwise soon after the last change. */
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

interface Props {
  id: string
  checked: Checked
  caret: { line: number; column: number }
  onGoTo: (offset: number) => void
}

export const StatusLine = ({ id, checked: { fault, placement, layout, bytes }, caret, onGoTo }: Props) => (
  <div class="status-line">
    <div id={id}>
      {fault === undefined ? (
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
