import errors from '../../../../docs/errors.md' with { type: 'text' }
import api from '../../../../docs/http-api.md' with { type: 'text' }
import modelling from '../../../../docs/modelling.md' with { type: 'text' }
import llms from './llms.md' with { type: 'text' }
import skill from './skill.md' with { type: 'text' }

// Pages are written with an example address and with links to their neighbours in `docs`. A reader of this server has neither.

/** The build puts them into the bundle, so that a packed server needs no files for them. */
export const texts = { api, errors, modelling, llms, skill }

/** The address in the texts: the server's default. */
const exampleBase = 'http://127.0.0.1:4600'

/** The addresses of the neighbours of a page, by the names of their files. */
type Neighbours = Readonly<Record<string, string>>

/** Links to other files: `[text](errors.md#code)`, but neither `[text](#heading)` nor `[text](https://…)`. */
const fileLink = /\[([^\]\n]*)\]\((?!#|[a-z]+:)([^)#\s]+)(#[^)\s]*)?\)/g

/**
 * A link to a neighbour leads to its address. A page that this server does not have is plain text. Comments, which mark the
 * generated parts for those who write the page, are left out.
 */
export const withWorkingLinks = (text: string, neighbours: Neighbours): string =>
  text.replaceAll(/^<!--.*-->\n/gm, '').replaceAll(fileLink, (_, shown: string, file: string, anchor = '') => {
    const address = neighbours[file]
    return address === undefined ? shown : `[${shown}](${address}${anchor})`
  })

/** Returns the text with or without the part that is about MCP. */
export const withMcpPart = (text: string, hasMcp: boolean): string =>
  text.replaceAll(/^<!-- mcp -->\n(.*?)^<!-- \/mcp -->\n/gms, hasMcp ? '$1' : '')

/** A text in which the address of the server is filled in. That costs little: every caller may name another one. */
export class Template {
  readonly #parts: readonly string[]
  /** Changes when the text does. */
  readonly version: string

  constructor(text: string) {
    this.#parts = text.split(exampleBase)
    this.version = new Bun.CryptoHasher('sha256').update(text).digest('base64url')
  }

  fill(baseUrl: string): string {
    return this.#parts.join(baseUrl)
  }
}
