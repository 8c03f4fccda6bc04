/** Shows a place of the page: opens what it is folded into, scrolls to it and marks it for a moment. */
export const reveal = (target: HTMLElement): void => {
  for (let at: HTMLElement | null = target; at !== null; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true
  }
  target.scrollIntoView({ block: target.tagName === 'SECTION' ? 'start' : 'center' })
  // Only the last one is marked, and a second visit marks it again.
  for (const before of document.querySelectorAll('.found')) before.classList.remove('found')
  requestAnimationFrame(() => target.classList.add('found'))
  if (!target.hasAttribute('tabindex')) target.tabIndex = -1
  target.focus({ preventScroll: true })
}

const revealHash = (): void => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  // A section is where the browser goes by itself.
  if (target !== null && target.tagName !== 'SECTION' && target.id !== 'main') reveal(target)
}

export const startReveal = (): void => {
  addEventListener('hashchange', revealHash)
  if (location.hash !== '') revealHash()
}
