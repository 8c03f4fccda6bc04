import { all, create } from './dom.ts'
import { reveal } from './reveal.ts'
import { excerptOf, type Found, type Place, readPlaces, search, splitMatches } from './search-index.ts'

const shownMax = 40

/** Marks the matches in a text. */
const marked = (text: string, query: string): (Node | string)[] =>
  splitMatches(text, query).map((piece, i) => (i % 2 === 1 ? create('mark', {}, piece) : piece))

class SearchDialog {
  readonly #dialog = create('dialog', { class: 'search', 'aria-label': 'Search' })
  readonly #input = create('input', {
    // An input of type `search` would be emptied by Escape before the dialog closes.
    type: 'text',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'results',
    'aria-autocomplete': 'list',
    'aria-label': 'Search operations, fields, errors and text',
    placeholder: 'Search operations, fields, errors and text',
    autocomplete: 'off',
    spellcheck: 'false',
  })
  readonly #results = create('div', { id: 'results', role: 'listbox', 'aria-label': 'Results', tabindex: '-1' })
  readonly #status = create('p', { class: 'note', role: 'status' })
  #places: Place[] = []
  #found: Found[] = []
  #active = 0

  constructor() {
    const close = create('button', { type: 'button', class: 'quiet' }, 'Close')
    close.addEventListener('click', () => this.#dialog.close())
    const foot = create('div', { class: 'foot' }, this.#status)
    this.#dialog.append(create('div', { class: 'head' }, this.#input, close), this.#results, foot)
    document.body.append(this.#dialog)
    this.#input.addEventListener('input', () => this.#update())
    this.#input.addEventListener('keydown', (event) => this.#key(event))
    // A click beside the box is on the dialog itself.
    this.#dialog.addEventListener('click', (event) => {
      if (event.target === this.#dialog) this.#dialog.close()
    })
  }

  open(): void {
    if (this.#dialog.open) return
    if (this.#places.length === 0) this.#places = readPlaces()
    this.#dialog.showModal()
    this.#input.select()
    this.#update()
  }

  #key(event: KeyboardEvent): void {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 5, PageUp: -5 }
    const step = steps[event.key]
    if (step !== undefined) {
      event.preventDefault()
      this.#activate(Math.max(0, Math.min(this.#count - 1, this.#active + step)))
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      this.#go(this.#active)
    }
  }

  get #count(): number {
    return Math.min(this.#found.length, shownMax)
  }

  #update(): void {
    const query = this.#input.value
    this.#found = search(this.#places, query)
    this.#results.replaceChildren(...this.#found.slice(0, shownMax).map((found, i) => this.#option(found, i, query)))
    this.#results.scrollTop = 0
    this.#activate(0)
    this.#status.textContent = this.#message(query)
  }

  #message(query: string): string {
    if (query.trim() === '') return 'Type a word: a field, a header, an error code. Enter opens, Escape closes.'
    if (this.#found.length === 0) return `Nothing on this page has "${query}". Try one word, or a part of it.`
    const more = this.#found.length > shownMax ? `, the first ${shownMax} are shown` : ''
    return `${this.#found.length} ${this.#found.length === 1 ? 'result' : 'results'}${more}`
  }

  #option({ place }: Found, index: number, query: string): HTMLElement {
    const option = create(
      'div',
      { role: 'option', id: `result-${index}` },
      create('p', { class: 'title' }, ...marked(place.title, query)),
      create('p', { class: 'path' }, ...marked(place.path, query)),
      create('p', { class: 'excerpt' }, ...marked(excerptOf(place, query), query)),
    )
    option.addEventListener('click', () => this.#go(index))
    option.addEventListener('pointermove', () => this.#activate(index))
    return option
  }

  #activate(index: number): void {
    this.#active = index
    all('[role=option]', this.#results).forEach((option, i) => {
      option.setAttribute('aria-selected', String(i === index))
      if (i === index) option.scrollIntoView({ block: 'nearest' })
    })
    if (this.#count > 0) this.#input.setAttribute('aria-activedescendant', `result-${index}`)
    else this.#input.removeAttribute('aria-activedescendant')
  }

  #go(index: number): void {
    const place = this.#found[index]?.place
    if (place === undefined) return
    this.#dialog.close()
    const id = (place.element.id || place.element.closest('[id]')?.id) ?? ''
    // `location.hash` would scroll to the section instead of the element in it.
    history.pushState(null, '', `#${encodeURIComponent(id)}`)
    reveal(place.element)
  }
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')

export const startSearch = (): void => {
  const dialog = new SearchDialog()
  for (const button of all('[data-search]')) {
    button.hidden = false
    button.addEventListener('click', () => dialog.open())
  }
  addEventListener('keydown', (event) => {
    const slash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target)
    const commandK =
      event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey
    if (!slash && !commandK) return
    event.preventDefault()
    dialog.open()
  })
}
