import { useRef } from 'preact/hooks'

interface Props {
  label: string
  class?: string
  isMultiple?: boolean
  onFiles: (files: File[]) => void
}

/** A button that opens the browser's choice of files. */
export const FileInput = ({ label, class: className, isMultiple = false, onFiles }: Props) => {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <button type="button" class={className} onClick={() => input.current?.click()}>
        {label}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        multiple={isMultiple}
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])]
          // The same file can be chosen again.
          currentTarget.value = ''
          if (files.length > 0) onFiles(files)
        }}
      />
    </>
  )
}
