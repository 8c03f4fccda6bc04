import { all } from './dom.ts'
import { codeShown } from './examples.ts'

/** A block that scrolls must be reachable with the keyboard. One that does not scroll should not be a stop on the way. */
export const markScrollers = (within: ParentNode = document): void => {
  const blocks = all('pre', within)
  // First read, then write: one layout for all.
  const scrolls = blocks.map((pre) => pre.scrollWidth > pre.clientWidth || pre.scrollHeight > pre.clientHeight)
  blocks.forEach((pre, i) => {
    if (scrolls[i]) pre.tabIndex = 0
    else pre.removeAttribute('tabindex')
  })
}

export const startScrollers = (): void => {
  let planned: number | undefined
  const plan = () => {
    clearTimeout(planned)
    planned = setTimeout(() => markScrollers(), 150)
  }
  document.addEventListener(codeShown, plan)
  addEventListener('resize', plan)
  markScrollers()
}
