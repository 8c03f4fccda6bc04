import { type Hint, type HintLanguage, hintText } from '../core/hint.ts'
import { findOperation } from '../operations/catalogue.ts'
import { shellLanguageOver } from '../operations/shell-hint.ts'
import { targetFor } from './targets.ts'

/** Names in the path of the request. */
export interface Names {
  readonly db?: string
  readonly table?: string
  readonly bucket?: string
  readonly task?: string
  /** The collection in requests for items, which name database and table at once. */
  readonly collection?: string
}

/** A call that names no database, table, bucket or task means those of the request. */
const http = (names: Names): HintLanguage => ({
  call({ operation, input }) {
    const route = findOperation(operation)?.route
    return route === undefined ? operation : `${route.method} ${targetFor(route, { ...names, ...input })}`
  },
  send: (members) =>
    `{ ${Object.entries(members)
      .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
      .join(', ')} }`,
  give: () => 'add it to the path',
  repeatLater: 'Repeat the request after the time in Retry-After',
})

export const httpHint = (hint: Hint | undefined, names: Names = {}): string | undefined =>
  hint === undefined ? undefined : hintText(hint, http(names))

/** Writes a hint for a caller that is a shell command: `Prefer: hints=shell`. */
export const shellHint = (hint: Hint | undefined, names: Names = {}): string | undefined =>
  hint === undefined ? undefined : hintText(hint, shellLanguageOver({ ...names }, http(names)))

/** The pages that help a caller who is lost. Only HTTP has them. */
export const docsNote = 'The API is documented at /docs, for agents at /SKILL.md.'
