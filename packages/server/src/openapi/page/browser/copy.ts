import { all, create } from './dom.ts'

const visibleCode = (box: HTMLElement): string =>
  all('.code pre', box).find((pre) => pre.offsetParent !== null)?.textContent ?? ''

/** One button for each box of examples: it copies the code that is shown. */
export const startCopying = (): void => {
  // Only pages from https or this machine may write to the clipboard.
  if (navigator.clipboard === undefined) return
  for (const box of all('.examples')) {
    const button = create('button', { type: 'button', class: 'quiet' }, 'Copy')
    button.addEventListener('click', async () => {
      const done = await navigator.clipboard.writeText(visibleCode(box)).then(
        () => 'Copied',
        () => 'Not allowed',
      )
      button.textContent = done
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 1500)
    })
    box.querySelector('.tools')!.append(button)
  }
}
