import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { commandsTable } from './commands-table.ts'
import { errorsPage } from './errors-page.ts'
import { withGeneratedParts } from './http-api.ts'
import { replaceParts } from './markdown.ts'

export const root = resolve(import.meta.dir, '../../../..')

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Returns what the pages should contain, by their paths. */
export const generatedPages = (): Map<string, string> =>
  new Map([
    ['docs/http-api.md', withGeneratedParts(read('docs/http-api.md'))],
    ['docs/errors.md', errorsPage()],
    ['docs/reference.md', replaceParts(read('docs/reference.md'), commandsTable)],
  ])
