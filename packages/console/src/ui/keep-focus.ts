/**
 * What had the focus may be gone with what was done, a button for selected rows say: then the screen gets it, so that the next
 * key goes on from there. After the screen was drawn.
 */
export const keepFocus = (): void => {
  setTimeout(() => {
    if (document.activeElement === document.body) document.getElementById('main')?.focus()
  })
}
