import { useSignalEffect } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { guardLeaving } from '../../router.ts'
import { draftOf, dropDraft, keepDraft } from '../../state/drafts.ts'
import { session } from '../../state/session.ts'

/**
 * The text of a dialog that was closed without an answer, also because the key has ended. `textNow` is undefined if nothing was
 * typed. Returns the kept text, and what to call once the text is sent or given up.
 */
export const useDialogDraft = (place: string, textNow: () => string | undefined): [string | undefined, () => void] => {
  const kept = useRef(draftOf(place)?.text)
  const isSettled = useRef(false)
  const now = useRef(textNow)
  now.current = textNow
  const keep = (): void => {
    if (isSettled.current || session.value === undefined) return
    const text = now.current()
    if (text === undefined) dropDraft(place)
    else keepDraft(place, { text })
  }
  // Each change is kept: the owner of a draft is not known once the session has ended.
  useSignalEffect(keep)
  // An effect comes a frame later: a dialog that is closed right after the last key was pressed does not wait for it.
  useLayoutEffect(() => keep, [])
  useEffect(() => guardLeaving(() => !isSettled.current && now.current() !== undefined), [])
  return [
    kept.current,
    () => {
      isSettled.current = true
      dropDraft(place)
    },
  ]
}
