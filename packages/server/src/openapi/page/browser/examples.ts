import { all, create } from './dom.ts'

// The examples of an operation: one is shown, chosen by name, in one language for the whole page.

const languages = { curl: 'curl', typescript: 'TypeScript', python: 'Python' }
type Language = keyof typeof languages

const storageName = 'cubby-docs-language'

/** Storage may be switched off. Only the name of the language is ever kept in it. */
const rememberedLanguage = (): Language => {
  try {
    const name = localStorage.getItem(storageName)
    return name !== null && Object.hasOwn(languages, name) ? (name as Language) : 'curl'
  } catch {
    return 'curl'
  }
}

const remember = (language: Language): void => {
  try {
    localStorage.setItem(storageName, language)
  } catch {
    // The choice is remembered until the page is closed.
  }
}

/** Tells other parts that code has become visible. */
export const codeShown = 'codeshown'

const showLanguage = (language: Language): void => {
  document.documentElement.dataset.language = language
  for (const tab of all('[role=tab]')) {
    const selected = tab.dataset.tab === language
    tab.setAttribute('aria-selected', String(selected))
    tab.tabIndex = selected ? 0 : -1
  }
  document.dispatchEvent(new Event(codeShown))
}

/** The chosen tab stays where it is on the screen, although blocks above it change their height. */
const choose = (language: Language, tab: HTMLElement): void => {
  const before = tab.getBoundingClientRect().top
  showLanguage(language)
  remember(language)
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' })
}

const moveTo = (tab: HTMLElement, key: string): void => {
  const tabs = all('[role=tab]', tab.parentElement!)
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 }
  const at = tabs.indexOf(tab)
  const next =
    key === 'Home' ? 0 : key === 'End' ? tabs.length - 1 : (at + (steps[key] ?? 0) + tabs.length) % tabs.length
  if (next === at) return
  tabs[next]!.focus()
  choose(tabs[next]!.dataset.tab as Language, tabs[next]!)
}

const languageTabs = (): HTMLElement => {
  const list = create('div', { role: 'tablist', 'aria-label': 'Language of the example' })
  for (const [language, title] of Object.entries(languages)) {
    const tab = create('button', { type: 'button', role: 'tab', 'data-tab': language }, title)
    tab.addEventListener('click', () => choose(language as Language, tab))
    tab.addEventListener('keydown', (event) => {
      if (!['ArrowRight', 'ArrowLeft', 'Home', 'End'].includes(event.key)) return
      event.preventDefault()
      moveTo(tab, event.key)
    })
    list.append(tab)
  }
  return list
}

/** A list to choose from instead of one line for each example. */
const exampleChooser = (box: HTMLElement): HTMLElement | undefined => {
  const examples = all('details', box) as HTMLDetailsElement[]
  if (examples.length < 2) return undefined
  const select = create('select', { 'aria-label': 'Example' })
  for (const example of examples) {
    const [label, status] = example.querySelector('summary')!.childNodes
    const text = `${label!.textContent!.trim()} (${status!.textContent})`
    select.append(create('option', { value: example.dataset.example! }, text))
    example.addEventListener('toggle', () => {
      if (!example.open) return
      select.value = example.dataset.example!
      document.dispatchEvent(new Event(codeShown))
    })
  }
  select.addEventListener('change', () => {
    for (const example of examples) example.open = example.dataset.example === select.value
  })
  return select
}

export const startExamples = (): void => {
  for (const panel of all('.code')) {
    panel.setAttribute('role', 'tabpanel')
    panel.setAttribute('aria-label', languages[panel.dataset.language as Language])
  }
  for (const box of all('.examples')) {
    const chooser = exampleChooser(box)
    const row = create('div', { class: 'tools' }, languageTabs())
    box.prepend(...(chooser === undefined ? [] : [create('div', { class: 'chooser' }, chooser)]), row)
  }
  showLanguage(rememberedLanguage())
}
