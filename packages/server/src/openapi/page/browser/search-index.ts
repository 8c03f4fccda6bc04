import { all } from './dom.ts'

// Search runs over the text of the page itself: nothing is downloaded twice, and what can be read can be found.

export interface Place {
  element: HTMLElement
  title: string
  /** The sections around it, outermost first. */
  path: string
  text: string
  /** Higher comes first among equal matches. */
  weight: number
}

export interface Found {
  place: Place
  score: number
}

/**
 * An operation whose title begins with the word comes before a field of that name, and that before what only has the word in
 * its text.
 */
const weights: Record<string, number> = { operation: 5, error: 4, topic: 3, schema: 1, example: 0, field: -18 }

const clean = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** The text of an element without that of places inside it, which are found by themselves. */
const ownText = (element: HTMLElement): string => {
  const parts: string[] = []
  const walk = (node: Node) => {
    if (node instanceof Text) parts.push(node.data)
    // Buttons and names of languages are not content.
    else if (!(node instanceof HTMLElement) || node.matches('[data-find], .label, .tools, .chooser')) return
    else {
      for (const child of node.childNodes) walk(child)
      if (/^(BR|P|LI|DT|DD|DIV|H\d|SUMMARY|PRE)$/.test(node.tagName)) parts.push(' ')
    }
  }
  for (const child of element.childNodes) walk(child)
  return clean(parts.join(''))
}

/** The status of an example is not part of its name. */
const titleOf = (element: HTMLElement): string => {
  const title = element.querySelector('h1, h2, h3, dt > code, summary, .name')
  return clean((title?.tagName === 'SUMMARY' ? title.firstChild : title)?.textContent ?? '')
}

const pathOf = (element: HTMLElement): string => {
  const titles: string[] = []
  for (let at = element.parentElement?.closest('[data-find], [data-group]'); at; ) {
    titles.unshift((at as HTMLElement).dataset.group ?? titleOf(at as HTMLElement))
    at = at.parentElement?.closest('[data-find], [data-group]')
  }
  return titles.join(' › ')
}

export const readPlaces = (): Place[] =>
  all('[data-find]').map((element) => {
    const kind = element.dataset.find!
    const target = element.dataset.target ?? ''
    return {
      element,
      title: titleOf(element),
      path: pathOf(element),
      text: clean(`${target} ${ownText(element)}`),
      // The place where a field is used comes before the list of all schemas.
      weight: (weights[kind] ?? 0) - (element.closest('#schemas') === null ? 0 : 1.5),
    }
  })

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Returns how well one word matches an entry; 0 if it does not. */
const scoreOf = (word: string, title: string, path: string, text: string): number => {
  if (title === word) return 60
  if (title.startsWith(word)) return 40
  if (title.includes(word)) return 30
  const start = `(^|[^\\p{L}\\p{N}])${escapePattern(word)}`
  if (new RegExp(`${start}($|[^\\p{L}\\p{N}])`, 'u').test(text)) return 22
  if (new RegExp(start, 'u').test(text)) return 20
  if (text.includes(word)) return 12
  return path.includes(word) ? 6 : 0
}

/** All words must match. */
export const search = (places: Place[], query: string): Found[] => {
  const words = clean(query.toLowerCase()).split(' ')
  if (words[0] === '') return []
  return places
    .map((place) => {
      const [title, path, text] = [place.title, place.path, place.text].map((part) => part.toLowerCase())
      const scores = words.map((word) => scoreOf(word, title!, path!, text!))
      return { place, score: scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score) + place.weight }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
}

/** The part of the text around the first match, cut at words. */
export const excerptOf = ({ text }: Place, query: string): string => {
  const words = clean(query.toLowerCase()).split(' ')
  const lower = text.toLowerCase()
  const at = Math.max(
    0,
    Math.min(...words.map((word) => lower.indexOf(word)).filter((index) => index >= 0), text.length),
  )
  const start = at < 36 || at === text.length ? 0 : text.indexOf(' ', at - 24) + 1
  const cut = text.slice(start, start + 130)
  return `${start > 0 ? '… ' : ''}${cut}${start + 130 < text.length ? ' …' : ''}`
}

/** The text in pieces; every second one matches a word of the query. */
export const splitMatches = (text: string, query: string): string[] => {
  const words = clean(query)
    .split(' ')
    .filter((word) => word !== '')
  return words.length === 0 ? [text] : text.split(new RegExp(`(${words.map(escapePattern).join('|')})`, 'iu'))
}
