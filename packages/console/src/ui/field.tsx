import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface Props {
  label: string
  hint?: ComponentChildren
  /** What is wrong with the value. */
  fault?: string
  children: (id: string, describedBy: string | undefined) => ComponentChildren
}

/** A label, its control, and below it a hint or what is wrong. */
export const Field = ({ label, hint, fault, children }: Props) => {
  const id = useId()
  const noteId = `${id}-note`
  const note = fault ?? hint
  return (
    <div class={fault === undefined ? 'field' : 'field faulty'}>
      <label for={id}>{label}</label>
      {children(id, note === undefined ? undefined : noteId)}
      {note !== undefined && (
        <div id={noteId} class="field-note">
          {fault !== undefined && <strong>Error: </strong>}
          {note}
        </div>
      )}
    </div>
  )
}
