import { useSignal } from '@preact/signals'
import { alarm, announce } from './announce.tsx'
import { copyText } from './copy.ts'

interface Props {
  /** Made when it is needed. */
  text: () => string
  label?: string
  class?: string
  /** For screen readers, if the label alone does not say what is copied. */
  what?: string
}

export const CopyButton = ({ text, label = 'Copy', class: className = '', what }: Props) => {
  const isDone = useSignal(false)
  const copy = async () => {
    isDone.value = await copyText(text())
    if (!isDone.value) return alarm('The browser did not allow copying.')
    announce('Copied')
    setTimeout(() => {
      isDone.value = false
    }, 1500)
  }
  return (
    <button
      type="button"
      class={className}
      aria-label={what === undefined ? undefined : `${label} ${what}`}
      onClick={copy}
    >
      {isDone.value ? 'Copied' : label}
    </button>
  )
}
