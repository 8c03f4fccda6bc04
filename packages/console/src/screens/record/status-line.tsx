import { type ReadonlySignal, useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { dataBytesMax } from '../../../../server/src/core/limits.ts'
import type { Indices } from '../../api/types.ts'
import { checkRecord, recordBytes, type TextFault } from '../../text/check.ts'
import { placementOf, placementWords } from './placement.ts'

/** Longer texts are checked when the typing pauses. */
const checkedAtOnceMax = 50_000
const pauseMs = 150

interface Checked {
  fault?: TextFault
  /** `in i1 and i2` */
  placement: string
  bytes: number
}

export const checkText = (text: string, indices: Indices | undefined): Checked => {
  const bytes = recordBytes(text)
  const checked = checkRecord(text)
  if (!checked.ok) return { fault: checked, placement: '', bytes }
  if (indices === undefined) return { placement: '', bytes }
  const { fault, ...found } = placementOf(text, indices)
  if (fault !== undefined) return { fault, placement: '', bytes }
  return { placement: placementWords('slots' in found ? found.slots : [], indices), bytes }
}

/** What is known of the text: at once if it is short, otherwise soon after the last change. */
export const useChecked = (
  text: ReadonlySignal<string>,
  indices: ReadonlySignal<Indices | undefined>,
): ReadonlySignal<Checked> => {
  const settled = useSignal(text.peek())
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useSignalEffect(() => {
    const current = text.value
    clearTimeout(timer.current)
    const settle = () => {
      settled.value = current
    }
    if (current.length <= checkedAtOnceMax) settle()
    else timer.current = setTimeout(settle, pauseMs)
    return () => clearTimeout(timer.current)
  })
  return useComputed(() => checkText(settled.value, indices.value))
}

interface Props {
  id: string
  checked: Checked
  caret: { line: number; column: number }
  onGoTo: (offset: number) => void
}

export const StatusLine = ({ id, checked: { fault, placement, bytes }, caret, onGoTo }: Props) => (
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
      {bytes.toLocaleString('en')} of {dataBytesMax.toLocaleString('en')} bytes · line {caret.line}, column{' '}
      {caret.column}
    </div>
  </div>
)
