// A text field shows every line break as LF, whatever the text has. The stored text must not change for that: the screen
// keeps the exact text, and applies to it what the reader changed in the field.

export const shownText = (exact: string): string => (exact.includes('\r') ? exact.replace(/\r\n?/g, '\n') : exact)

/** Where an offset of the exact text is in the shown one. */
export const shownOffset = (exact: string, offset: number): number => shownText(exact.slice(0, offset)).length

const exactOffset = (exact: string, shown: number): number => {
  let at = 0
  for (let left = shown; left > 0; left--) at += exact.startsWith('\r\n', at) ? 2 : 1
  return at
}

/** The exact text after the field was changed to `shown`. Line breaks outside of the change stay as they were. */
export const editedText = (exact: string, shown: string): string => {
  if (!exact.includes('\r')) return shown
  const before = shownText(exact)
  const most = Math.min(before.length, shown.length)
  let ahead = 0
  while (ahead < most && before[ahead] === shown[ahead]) ahead++
  let behind = 0
  while (behind < most - ahead && before[before.length - 1 - behind] === shown[shown.length - 1 - behind]) behind++
  const start = exact.slice(0, exactOffset(exact, ahead))
  const end = exact.slice(exactOffset(exact, before.length - behind))
  const edited = start + shown.slice(ahead, shown.length - behind) + end
  // A CR that now stands before an LF would be one line break with it.
  return shownText(edited) === shown ? edited : shown
}
