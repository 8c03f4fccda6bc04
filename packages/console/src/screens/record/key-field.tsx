import { useSignal } from '@preact/signals'
import { Field } from '../../ui/form.tsx'
import { fitsInput, jsonKey, keyFault } from './record-key.ts'

interface Props {
  label: string
  hint: string
  value: string
  isOptional?: boolean
  onChange: (key: string) => void
}

const readJsonString = (text: string): string | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * A record key may have any character, but an input drops line breaks and cannot show controls. Such keys are typed as a JSON
 * string, with escapes.
 */
export const KeyField = ({ label, hint, value, isOptional = false, onChange }: Props) => {
  const json = useSignal<string | undefined>(fitsInput(value) ? undefined : jsonKey(value))
  const isUntouched = useSignal(true)
  const isJson = json.value !== undefined
  const isBroken = isJson && readJsonString(json.value!) === undefined
  const isMissing = value === '' && (isOptional || isUntouched.value)
  const fault = isBroken
    ? 'This is not a JSON string. Write it in double quotes, with escapes such as \\n.'
    : isMissing
      ? undefined
      : keyFault(value, 'The key')
  const type = (typed: string) => {
    isUntouched.value = false
    if (!isJson) return onChange(typed)
    json.value = typed
    onChange(readJsonString(typed) ?? '')
  }
  const paste = (event: ClipboardEvent) => {
    const pasted = event.clipboardData?.getData('text/plain') ?? ''
    if (isJson || fitsInput(pasted) || value !== '') return
    event.preventDefault()
    json.value = jsonKey(pasted)
    onChange(pasted)
  }
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(id, describedBy) => (
        <>
          <input
            id={id}
            class="mono"
            autocomplete="off"
            spellcheck={false}
            aria-describedby={describedBy}
            aria-invalid={fault !== undefined}
            value={json.value ?? value}
            onInput={(event) => type(event.currentTarget.value)}
            onPaste={paste}
          />
          <label class="check">
            <input
              type="checkbox"
              checked={isJson}
              disabled={isJson && (isBroken || !fitsInput(value))}
              onChange={(event) => {
                json.value = event.currentTarget.checked ? jsonKey(value) : undefined
              }}
            />
            <small>As a JSON string, with escapes such as \n</small>
          </label>
        </>
      )}
    </Field>
  )
}
