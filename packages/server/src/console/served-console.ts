import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { CubbyError } from '../core/errors.ts'
import type { ConsolePages, Page } from '../http/pages.ts'
import { type ConsoleFiles, consolePage, fileHeaders, pageHeaders } from './page.ts'

const buildCommand = 'npm run build -w packages/console'

/** The hint for a clone whose install scripts did not run: a packed server has the files inside. */
export const notBuiltHint = `Run "${buildCommand}" in the repository, then start the server again.`

const compress = promisify(gzip)

const hashOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex').slice(0, 16)

/** Compressed outside of the thread that serves. */
const makeFile = async (text: string, version: string, headers: Record<string, string>): Promise<Page> => ({
  body: new Blob([text]),
  gzipped: new Blob([await compress(text, { level: 9 })]),
  version,
  headers,
})

/** The page has no version: it is another text each time. It is short, so compressing it would take more time than it saves. */
const makePage = (files: ConsoleFiles): Page => {
  const nonce = randomBytes(16).toString('base64url')
  return { body: new Blob([consolePage(files, nonce)]), headers: pageHeaders(nonce) }
}

/** undefined if they are not there. Bun remembers that, so a build shows after a restart only. */
const loadSources = async (): Promise<typeof import('./sources.js') | undefined> => {
  try {
    return await import('./sources.js')
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

export const isConsoleBuilt = async (): Promise<boolean> => (await loadSources()) !== undefined

const types = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }

interface Made {
  page: () => Page
  files: Map<string, Page>
}

const make = async (): Promise<Made> => {
  const sources = await loadSources()
  if (sources === undefined) {
    throw new CubbyError('route_not_found', 'The console of this server is not built.', { hint: notBuiltHint })
  }
  const { built, icon } = sources
  const files = new Map<string, Page>()
  const addFile = async (name: string, text: string): Promise<void> => {
    const [hash, ending] = name.split('.') as [string, keyof typeof types]
    files.set(name, await makeFile(text, hash, fileHeaders(`${types[ending]}; charset=utf-8`)))
  }
  for (const [name, text] of Object.entries(built.files)) await addFile(name, text)
  const iconName = `${hashOf(icon)}.svg`
  await addFile(iconName, icon)
  return { page: () => makePage({ ...built, icon: iconName }), files }
}

/** The files are made at the first request, because most processes are never asked for them, and once: they never change. */
export const servedConsole = (): ConsolePages => {
  let made: Promise<Made> | undefined
  const get = async (): Promise<Made> => {
    made ??= make()
    try {
      return await made
    } catch (error) {
      // The next request tries again.
      made = undefined
      throw error
    }
  }
  return {
    page: async () => (await get()).page(),
    file: async (name) => (await get()).files.get(name),
  }
}
