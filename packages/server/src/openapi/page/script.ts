/**
 * The page works without this script. It inserts the address of this server, adds copy buttons, filters the table of
 * contents and folds it on a small screen. It sends nothing.
 */
export const script = `
const base = new URL('.', location.href).href.replace(/[/]$/, '')
for (const place of document.querySelectorAll('[data-base]')) place.textContent = base

if (navigator.clipboard) {
  for (const box of document.querySelectorAll('.paste')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.onclick = async () => {
      await navigator.clipboard.writeText(box.querySelector('pre').textContent)
      button.textContent = 'Copied'
      setTimeout(() => { button.textContent = 'Copy' }, 1500)
    }
    box.append(button)
  }
}

const contents = document.querySelector('nav > details')
const wide = matchMedia('(min-width: 60.01rem)')
const fold = () => { contents.open = wide.matches }
wide.addEventListener('change', fold)
fold()
contents.addEventListener('click', (event) => { if (event.target.closest('a')) fold() })

const filter = document.createElement('input')
filter.type = 'search'
filter.placeholder = 'Filter'
filter.setAttribute('aria-label', 'Filter the table of contents')
filter.oninput = () => {
  const words = filter.value.toLowerCase().split(/\\s+/)
  for (const item of contents.querySelectorAll('li')) {
    const text = (item.textContent + ' ' + (item.dataset.words ?? '')).toLowerCase()
    item.hidden = !words.every((word) => text.includes(word))
  }
  for (const group of contents.querySelectorAll('.group')) group.hidden = !group.querySelector('li:not([hidden])')
}
contents.querySelector('summary').after(filter)
`
