// Files whose scripts would take the key of whoever looks at them, for the tests of both browsers.

/** Leaves the storage of the tab, where the key is, to every page of the origin. Elsewhere it throws. */
const steal = (way: string): string => `localStorage.setItem('stolen by ${way}', Object.values(sessionStorage).join())`

const size = 'width="9" height="9"'

export interface HostileFile {
  name: string
  type: string
  text: string
}

export const hostileScript: HostileFile = { name: 'x.js', type: 'text/javascript', text: steal('a file') }

/** `scriptUrl`: where the hostile script is. Whole, because a document made of a blob has no paths. */
export const hostileSvg = (name: string, scriptUrl: string): HostileFile => ({
  name,
  type: 'image/svg+xml',
  text: `<svg xmlns="http://www.w3.org/2000/svg" ${size} onload="${steal('onload')}"><script>${steal('inline')}</script><script href="${scriptUrl}"/></svg>`,
})

/** Other documents with scripts. Browsers read every type that ends in +xml as XML. */
export const hostileDocuments = (scriptUrl: string): HostileFile[] => {
  const page = `<html xmlns="http://www.w3.org/1999/xhtml"><body><script>${steal('a page')}</script><script src="${scriptUrl}"></script></body></html>`
  return [
    { name: 'page.html', type: 'text/html', text: page },
    { name: 'page.xhtml', type: 'application/xhtml+xml', text: page },
    { name: 'film', type: 'video/film+xml', text: page },
    { name: 'page.png', type: 'image/png', text: page },
    { name: 'page.txt', type: 'text/plain', text: page },
  ]
}
