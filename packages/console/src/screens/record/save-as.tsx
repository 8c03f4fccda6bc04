import { useSignal } from '@preact/signals'
import type { RecordRow } from '../../api/types.ts'
import { into } from '../../ui/action.tsx'
import { Confirm } from '../../ui/form.tsx'
import type { Editing } from './editing.ts'
import { KeyField } from './key-field.tsx'
import { keyFault, normalKey } from './record-key.ts'
import { putRecord } from './record-requests.ts'

interface Props {
  editing: Editing
  onSaved: (row: RecordRow) => void
  onClose: () => void
}

export const hashKeyHint = 'Any text of 1 to 1,024 bytes.'
export const rangeKeyHint = 'Optional. Empty means none, and so does "#".'

/** The text under another key. It never replaces a record. */
export const SaveAs = ({ editing, onSaved, onClose }: Props) => {
  const hashKey = useSignal(editing.keyToSave.hashKey)
  const rangeKey = useSignal(editing.keyToSave.rangeKey ?? '')
  const save = async () => {
    const key = normalKey({ hashKey: hashKey.value, rangeKey: rangeKey.value })
    for (const [part, what] of [
      [key.hashKey, 'The hash key'],
      [key.rangeKey ?? '#', 'The range key'],
    ] as const) {
      const fault = keyFault(part, what)
      if (fault !== undefined) throw new Error(fault)
    }
    const { db, table, text, ttlSeconds } = editing
    onSaved(await putRecord(db, table, key, text, ttlSeconds, undefined))
  }
  return (
    <Confirm title="Save as another key" action="Save" isDangerous={false} run={save} onClose={onClose}>
      <div class="stack">
        <p>A new record gets the text and the ttl. The record that you opened stays as it is stored.</p>
        <KeyField label="Hash key" hint={hashKeyHint} value={hashKey.value} onChange={into(hashKey)} />
        <KeyField label="Range key" hint={rangeKeyHint} isOptional value={rangeKey.value} onChange={into(rangeKey)} />
      </div>
    </Confirm>
  )
}
