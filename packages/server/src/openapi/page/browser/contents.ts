import { all } from './dom.ts'

/** Marks the section that is being read, in the table of contents. */
const followSections = (contents: HTMLElement): void => {
  const links = all('a[href^="#"]', contents)
  const linkOf = new Map(links.map((link) => [document.getElementById(link.getAttribute('href')!.slice(1))!, link]))
  const inView = new Set<Element>()
  let current: HTMLElement | undefined
  const mark = (link: HTMLElement) => {
    if (link === current) return
    current?.removeAttribute('aria-current')
    link.setAttribute('aria-current', 'location')
    current = link
    const { top, bottom } = link.getBoundingClientRect()
    const frame = contents.getBoundingClientRect()
    // Only the table of contents is scrolled: `scrollIntoView` would also scroll the page.
    if (top < frame.top + 40 || bottom > frame.bottom - 40) contents.scrollTop += top - frame.top - frame.height / 2
  }
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) inView.add(target)
        else inView.delete(target)
      }
      // The last one that has reached the upper part of the screen.
      const section = [...linkOf.keys()].findLast((one) => inView.has(one))
      if (section !== undefined) mark(linkOf.get(section)!)
    },
    { rootMargin: '-64px 0px -75% 0px' },
  )
  for (const section of linkOf.keys()) observer.observe(section)
}

/** The table of contents is a sheet on a small screen: it closes when a link in it is followed. */
const closeSheet = (contents: HTMLElement): void => {
  contents.addEventListener('click', (event) => {
    if ((event.target as HTMLElement).closest('a') !== null && contents.matches(':popover-open')) contents.hidePopover()
  })
  matchMedia('(min-width: 768px)').addEventListener('change', () => {
    if (contents.matches(':popover-open')) contents.hidePopover()
  })
  contents.addEventListener('toggle', (event) => {
    if ((event as ToggleEvent).newState !== 'open') return
    const current = contents.querySelector<HTMLElement>('[aria-current]') ?? contents.querySelector('a')
    current?.focus()
  })
}

export const startContents = (): void => {
  const contents = document.getElementById('contents')!
  followSections(contents)
  closeSheet(contents)
}
