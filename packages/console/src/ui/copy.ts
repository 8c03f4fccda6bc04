/** Over plain `http` on another host than localhost there is no `navigator.clipboard`. */
const copyBySelection = (text: string): boolean => {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'offscreen'
  const focused = document.activeElement
  // In a modal dialog only what is inside it can have the focus.
  ;(document.querySelector('dialog[open]') ?? document.body).append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isDone
}

export const copyText = async (text: string): Promise<boolean> => {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      // Not allowed here: try the old way.
    }
  }
  return copyBySelection(text)
}
