import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { nameText } from './rows.ts'

interface Props {
  fields: readonly string[]
  shown: readonly string[]
  isChosen: boolean
  /** `fields` is undefined if the grid is to choose. */
  choose: (fields: string[] | undefined) => void
}

/** The choice of the fields that are columns. It is remembered for this table. */
export const ColumnsMenu = ({ fields, shown, isChosen, choose }: Props) => {
  const element = useRef<HTMLDetailsElement>(null)
  const isOpen = useSignal(false)
  useEffect(() => {
    const closeOutside = (event: Event) => {
      const menu = element.current
      if (menu?.open && !menu.contains(event.target as Node)) menu.open = false
    }
    addEventListener('pointerdown', closeOutside)
    addEventListener('focusin', closeOutside)
    return () => {
      removeEventListener('pointerdown', closeOutside)
      removeEventListener('focusin', closeOutside)
    }
  }, [])
  return (
    <details
      ref={element}
      class="menu"
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.currentTarget.open = false
        event.currentTarget.querySelector('summary')!.focus()
      }}
    >
      <summary>Columns</summary>
      {isOpen.value && (
        <div class="menu-body">
          {fields.length === 0 && <p class="muted">The records have no fields.</p>}
          {fields.map((name) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={shown.includes(name)}
                onChange={(event) =>
                  choose(event.currentTarget.checked ? [...shown, name] : shown.filter((other) => other !== name))
                }
              />
              <span class="mono">{nameText(name)}</span>
            </label>
          ))}
          {isChosen && (
            <button type="button" onClick={() => choose(undefined)}>
              Choose automatically
            </button>
          )}
        </div>
      )}
    </details>
  )
}
